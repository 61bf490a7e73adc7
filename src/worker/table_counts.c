/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/table_counts.h"

#include <stdlib.h>

bool table_counts_alloc(struct table_counts *counts, const struct routes *routes, unsigned workers)
{
	uint32_t binds = 0;

	*counts = (struct table_counts){0};
	for (uint32_t t = 0; t < routes->set.count; t++) {
		counts->first_bind[t] = binds;
		binds += routes->set.tables[t].bind_count;
	}
	return count_rows_alloc(&counts->backends, BACKEND_COUNTS, routes->address_count, workers) &&
	       count_rows_alloc(&counts->binds, BIND_COUNTS, binds, workers);
}

void table_counts_free(struct table_counts *counts)
{
	count_rows_free(&counts->backends);
	count_rows_free(&counts->binds);
}

static int compare_backends(const void *a, const void *b)
{
	const struct table_backend *left = a, *right = b;

	return netaddr_compare(&left->addr, &right->addr);
}

static int compare_binds(const void *a, const void *b)
{
	const struct table_bind *left = a, *right = b;
	int order = netaddr_compare(&left->prefix.addr, &right->prefix.addr);

	if (order == 0)
		order = (int)left->prefix.length - right->prefix.length;
	if (order == 0)
		order = (int)left->protocol - right->protocol;
	if (order == 0)
		order = (int)left->port_start - right->port_start;
	return order ? order : (int)left->port_end - right->port_end;
}

/* Lists the backends of a table. NULL: out of memory. The caller frees the list. */
static struct count_key *list_backends(const struct routes *routes, uint32_t t)
{
	const struct table *table = &routes->set.tables[t];
	struct count_key *keys = calloc(table->backend_count + 1u, sizeof(*keys));

	for (uint32_t i = 0; keys && i < table->backend_count; i++)
		keys[i] = (struct count_key){&table->backends[i], routes_backend(routes, t, i)};
	return keys;
}

static struct count_key *list_binds(const struct table_counts *counts, const struct routes *routes, uint32_t t)
{
	const struct table *table = &routes->set.tables[t];
	struct count_key *keys = calloc(table->bind_count + 1u, sizeof(*keys));

	for (uint32_t i = 0; keys && i < table->bind_count; i++)
		keys[i] = (struct count_key){&table->binds[i], table_counts_bind(counts, t, i)};
	return keys;
}

void table_counts_carry(struct table_counts *counts, const struct routes *routes, uint32_t to,
	const struct table_counts *old, const struct routes *old_routes, uint32_t from)
{
	const struct table *table = &routes->set.tables[to], *old_table = &old_routes->set.tables[from];
	struct count_key *keys = list_backends(routes, to), *old_keys = list_backends(old_routes, from);

	if (keys && old_keys)
		count_rows_carry(&counts->backends, keys, table->backend_count, &old->backends, old_keys,
			old_table->backend_count, compare_backends);
	free(keys);
	free(old_keys);
	keys = list_binds(counts, routes, to);
	old_keys = list_binds(old, old_routes, from);
	if (keys && old_keys)
		count_rows_carry(&counts->binds, keys, table->bind_count, &old->binds, old_keys, old_table->bind_count,
			compare_binds);
	free(keys);
	free(old_keys);
}
