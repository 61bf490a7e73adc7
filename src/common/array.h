/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow, and sorted ones. Pure. */
#pragma once

#include <stddef.h>

/*
 * Returns a new zeroed item at the end of an array, or NULL and ENOMEM in errno. items: the address of the pointer to
 * the array, which is NULL at first and which the caller frees. size: bytes of an item. The array doubles its room.
 */
void *array_append(void *items, size_t *count, size_t size);

/*
 * Sets the variable `at` to the index of the first of `count` elements for which `before`, a condition about the
 * element `at`, is false; `count`: it is true for all. Those for which it is true come first.
 */
#define ARRAY_BISECT(at, count, before)                                  \
	do {                                                             \
		__typeof__(at) array_low = 0, array_high = (count);      \
		while (array_low < array_high) {                         \
			(at) = array_low + (array_high - array_low) / 2; \
			if (before)                                      \
				array_low = (at) + 1;                    \
			else                                             \
				array_high = (at);                       \
		}                                                        \
		(at) = array_low;                                        \
	} while (0)
