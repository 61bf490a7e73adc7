/* SPDX-License-Identifier: BSD-3-Clause */
/* The time of CLOCK_MONOTONIC as one number. Thread-safe. */
#pragma once

#include <stdint.h>
#include <time.h>

#define CLOCK_NS_PER_S UINT64_C(1000000000)

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_now_us(void)
{
	return clock_now_ns() / 1000;
}

static inline uint64_t clock_now_ms(void)
{
	return clock_now_ns() / 1000000;
}

/* The time of the kernel's last tick: cheaper to read, and up to 10 ms late. */
static inline uint64_t clock_coarse_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC_COARSE);
}

/* Microseconds as a struct timespec. */
static inline struct timespec clock_timespec(uint64_t us)
{
	return (struct timespec){.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000 * 1000)};
}
