/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/alloc.h"

#include <stdlib.h>

#include "program/command.h"

void alloc_failed(void)
{
	exit(command_error("out of memory"));
}

void *alloc_zeroed(size_t count, size_t size)
{
	void *items = calloc(count ? count : 1, size);

	if (!items)
		alloc_failed();
	return items;
}

void *alloc_grown(void *items, size_t count, size_t size)
{
	void *grown = reallocarray(items, count, size);

	if (!grown)
		alloc_failed();
	return grown;
}
