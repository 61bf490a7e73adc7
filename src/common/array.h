/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow. Pure. */
#pragma once

#include <stddef.h>

/*
 * Returns a new zeroed item at the end of an array, or NULL and ENOMEM in errno. items: the address of the pointer to
 * the array, which is NULL at first and which the caller frees. size: bytes of an item. The array doubles its room.
 */
void *array_append(void *items, size_t *count, size_t size);
