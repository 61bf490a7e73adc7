/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/backend_counts.h"

#include <stdlib.h>

#define LINE 128 /* bytes; CPUs prefetch cache lines in pairs */

bool backend_counts_alloc(struct backend_counts *counts, const struct routes *routes, unsigned workers)
{
	size_t per_line = LINE / sizeof(uint64_t);
	size_t stride = (routes->address_count + per_line) / per_line * per_line;
	/* calloc() does not touch new pages, so a worker's row gets memory when the worker counts. */
	char *memory = calloc(1, BACKEND_COUNTS * (workers + 1) * stride * sizeof(uint64_t) + LINE);

	*counts = (struct backend_counts){.stride = stride, .workers = workers, .memory = memory};
	if (memory)
		counts->rows = (uint64_t *)(memory + (LINE - (uintptr_t)memory % LINE));
	return memory;
}

void backend_counts_free(struct backend_counts *counts)
{
	free(counts->memory);
	*counts = (struct backend_counts){0};
}

/* Returns the row of earlier tables. */
static uint64_t *earlier_row(const struct backend_counts *counts, enum backend_count what)
{
	return counts->rows + what * (counts->workers + 1) * counts->stride;
}

uint64_t backend_counts_sum(const struct backend_counts *counts, enum backend_count what, uint32_t index)
{
	const uint64_t *rows = earlier_row(counts, what);
	uint64_t sum = 0;

	for (unsigned row = 0; row <= counts->workers; row++)
		sum += __atomic_load_n(&rows[row * counts->stride + index], __ATOMIC_RELAXED);
	return sum;
}

static int compare_backends(const void *a, const void *b)
{
	const struct table_backend *const *left = a, *const *right = b;

	return netaddr_compare(&(*left)->addr, &(*right)->addr);
}

/* Returns the table's backends in the order of their addresses, so that a binary search finds each. NULL: no memory. */
static const struct table_backend **sort_backends(const struct table *table)
{
	const struct table_backend **sorted = calloc(table->backend_count + 1u, sizeof(*sorted));

	for (uint32_t i = 0; sorted && i < table->backend_count; i++)
		sorted[i] = &table->backends[i];
	if (sorted)
		qsort(sorted, table->backend_count, sizeof(*sorted), compare_backends);
	return sorted;
}

void backend_counts_carry(struct backend_counts *counts, const struct routes *routes, uint32_t to,
	const struct backend_counts *old, const struct routes *old_routes, uint32_t from)
{
	const struct table *table = &routes->set.tables[to], *old_table = &old_routes->set.tables[from];
	const struct table_backend **sorted = sort_backends(old_table);

	for (uint32_t i = 0; sorted && i < table->backend_count; i++) {
		const struct table_backend *key = &table->backends[i];
		const struct table_backend **found =
			bsearch(&key, sorted, old_table->backend_count, sizeof(*sorted), compare_backends);

		for (unsigned what = 0; found && what < BACKEND_COUNTS; what++)
			earlier_row(counts, what)[routes_backend(routes, to, i)] = backend_counts_sum(
				old, what, routes_backend(old_routes, from, (uint32_t)(*found - old_table->backends)));
	}
	free(sorted);
}
