/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/json_twins.h"

#include <stdlib.h>

/* Orders by address, then by index. Addresses that could not be read come first. */
static int compare(const void *a, const void *b)
{
	const struct netaddr *const *x = a, *const *y = b;
	int order = netaddr_compare(*x, *y);

	return order ? order : (*x < *y ? -1 : *x > *y);
}

static uint32_t index_of(const struct netaddr *addr, const struct netaddr *first, size_t stride)
{
	return (uint32_t)((size_t)((const char *)addr - (const char *)first) / stride);
}

/* Sets twin[i] to the index of the first object with the address of object i, perhaps i itself. */
static void find_twins(
	const struct netaddr **sorted, const struct netaddr *first, size_t stride, uint32_t count, uint32_t *twin)
{
	const struct netaddr *same = NULL;

	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (const void *)((const char *)first + i * stride);
	qsort(sorted, count, sizeof(*sorted), compare);
	for (uint32_t i = 0; i < count; i++) {
		if (!same || sorted[i]->family == NETADDR_NONE || netaddr_compare(same, sorted[i]) != 0)
			same = sorted[i];
		twin[index_of(sorted[i], first, stride)] = index_of(same, first, stride);
	}
}

void json_twins_check(struct json_reader *reader, const struct netaddr *first, size_t stride, uint32_t count)
{
	const struct netaddr **sorted = calloc(count + 1, sizeof(*sorted));
	uint32_t *twin = calloc(count + 1, sizeof(*twin));
	char text[NETADDR_TEXT_MAX];

	if (sorted && twin)
		find_twins(sorted, first, stride, count, twin);
	else
		json_reader_error(reader, "out of memory");
	for (uint32_t i = 0; sorted && twin && i < count; i++) {
		size_t mark;

		if (twin[i] == i)
			continue;
		mark = json_reader_enter_index(reader, i);
		json_reader_enter_key(reader, "ip");
		json_reader_error(reader, "'%s' is listed twice: backends[%u] has this address already",
			netaddr_format((const void *)((const char *)first + i * stride), text), twin[i]);
		json_reader_leave(reader, mark);
	}
	free(sorted);
	free(twin);
}
