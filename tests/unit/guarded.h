/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory between two pages that fault on any access. Tests place a frame at the end, or its headroom at the start, to
 * detect every access outside.
 */
#pragma once

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define GUARDED_SIZE (4 * 4096)

/* Returns the first of GUARDED_SIZE bytes. It is the same at every call. */
static inline uint8_t *guarded_begin(void)
{
	static uint8_t *begin;

	if (!begin) {
		uint8_t *at = mmap(NULL, GUARDED_SIZE + 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		begin = at + 4096;
		if (at == MAP_FAILED || mprotect(begin, GUARDED_SIZE, PROT_READ | PROT_WRITE))
			__builtin_trap();
	}
	return begin;
}

static inline uint8_t *guarded_end(void)
{
	return guarded_begin() + GUARDED_SIZE;
}

/* Copies the bytes to the end of the memory. The copy is valid until the next call. */
static inline uint8_t *guarded_copy(const void *bytes, size_t size)
{
	return memcpy(guarded_end() - size, bytes, size);
}
