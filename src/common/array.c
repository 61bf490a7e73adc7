/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void *array_append(void *items, size_t *count, size_t size)
{
	bool full = (*count & (*count - 1)) == 0; /* 0, or a power of two */
	char *array;

	memcpy(&array, items, sizeof(array)); /* the pointer has the type of the items */
	if (full)
		array = reallocarray(array, *count ? 2 * *count : 1, size);
	if (!array)
		return NULL;
	memcpy(items, &array, sizeof(array));
	return memset(array + size * (*count)++, 0, size);
}
