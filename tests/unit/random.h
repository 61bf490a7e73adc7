/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers, which are the same in every run. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of `count` random cases, how many a test runs. Sanitizers and the emulator make code 5 to 15 times slower. */
#ifdef SLOW_CODE
#define CASES(count) ((count) / 8)
#define STEP         3 /* between the sizes that a test runs */
#else
#define CASES(count) (count)
#define STEP         1
#endif

static uint64_t random_state = 1;

/* splitmix64 */
static inline uint64_t random_u64(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline uint32_t random_below(uint32_t end)
{
	return (uint32_t)(random_u64() % end);
}

static inline void random_fill(void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)bytes)[i] = (uint8_t)random_u64();
}
