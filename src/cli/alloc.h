/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for subcommands. A subcommand that gets none has nothing to clean up and nothing else to do. So these
 * functions never return NULL: they print "out of memory" and end the program with COMMAND_FAILED. Not for code that
 * holds half written files. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns zeros, as calloc(); never NULL, not even for no items. */
void *alloc_zeroed(size_t count, size_t size);

/* Returns room for more items, as reallocarray(). The new ones are undefined. */
void *alloc_grown(void *items, size_t count, size_t size);

void alloc_failed(void) __attribute__((noreturn));

/* Takes the result of what fails only without memory. */
static inline void alloc_check(bool done)
{
	if (!done)
		alloc_failed();
}
