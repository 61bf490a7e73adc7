/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for tables that are read at random: on huge pages where the kernel has some to give, for a lookup otherwise
 * often waits for the TLB, too. Linux; thread-safe.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BIG_ALLOC_PAGE ((size_t)2 << 20)

/* Not cleared; NULL: out of memory. The caller frees it with free(). */
static inline void *big_alloc(size_t size)
{
	void *memory;

	if (size < BIG_ALLOC_PAGE)
		return malloc(size);
	size = (size + BIG_ALLOC_PAGE - 1) / BIG_ALLOC_PAGE * BIG_ALLOC_PAGE;
	memory = aligned_alloc(BIG_ALLOC_PAGE, size);
	if (memory)
		madvise(memory, size, MADV_HUGEPAGE); /* else small pages do */
	return memory;
}
