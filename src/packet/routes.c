/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/routes.h"

#include <stdlib.h>
#include <string.h>

#include "packet/big_alloc.h"

/*
 * A row of a binary table can have an address twice. Version 2 names the only hop of a row twice, and a file may list
 * one address as two backends.
 */
static bool rows_are_distinct(const struct routes_table *table)
{
	bool distinct = true;

	for (size_t at = 0; at < (size_t)TABLE_ROWS * table->row_hops; at += table->row_hops)
		for (unsigned i = 1; i < table->row_hops; i++)
			for (unsigned j = 0; j < i; j++)
				distinct &=
					table->addresses[table->rows[at + i]] != table->addresses[table->rows[at + j]];
	return distinct;
}

static bool alloc_addresses(struct routes *routes)
{
	const struct table_set *set = &routes->set;

	routes->small_tables = true;
	for (uint32_t t = 0; t < set->count; t++) {
		routes->address_count += set->tables[t].backend_count;
		routes->small_tables &= set->tables[t].backend_count <= ROUTES_SMALL;
	}
	if (routes->small_tables)
		routes->address_count = ROUTES_SMALL * set->count;
	routes->addresses = calloc(routes->address_count + 1, sizeof(*routes->addresses));
	return routes->addresses;
}

static bool fill_tables(struct routes *routes)
{
	const struct table_set *set = &routes->set;
	uint32_t *at;

	if (!alloc_addresses(routes))
		return false;
	at = routes->addresses;
	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];

		if (routes->small_tables)
			at = routes->addresses + ROUTES_SMALL * t;
		routes->tables[t] = (struct routes_table){
			.hash_key = table->hash_key,
			.rows = table->rows,
			.addresses = at,
			.row_hops = table->row_hops,
		};
		for (uint32_t i = 0; i < table->backend_count; i++)
			memcpy(at++, table->backends[i].addr.bytes, sizeof(*at));
		routes->tables[t].distinct = rows_are_distinct(&routes->tables[t]);
		siphash_begin(&routes->keys[t], table->hash_key);
	}
	return true;
}

static int compare_addresses(const void *a, const void *b)
{
	uint32_t left, right;

	memcpy(&left, a, sizeof(left));
	memcpy(&right, b, sizeof(right));
	return (left > right) - (left < right);
}

static bool sort_addresses(struct routes *routes)
{
	const struct table_set *set = &routes->set;

	routes->sorted = calloc(routes->address_count + 1u, sizeof(*routes->sorted));
	for (uint32_t t = 0; routes->sorted && t < set->count; t++) {
		memcpy(routes->sorted + routes->sorted_count, routes->tables[t].addresses,
			set->tables[t].backend_count * sizeof(*routes->sorted));
		routes->sorted_count += set->tables[t].backend_count;
	}
	if (routes->sorted)
		qsort(routes->sorted, routes->sorted_count, sizeof(*routes->sorted), compare_addresses);
	return routes->sorted;
}

bool routes_has_backend(const struct routes *routes, uint32_t address)
{
	return bsearch(&address, routes->sorted, routes->sorted_count, sizeof(address), compare_addresses);
}

static bool has_pairs_only(const struct routes *routes)
{
	size_t backends = 0;

	for (uint32_t t = 0; t < routes->set.count; t++) {
		backends += routes->set.tables[t].backend_count;
		if (routes->tables[t].row_hops != 2 || !routes->tables[t].distinct)
			return false;
	}
	return routes->set.count && (routes->small_tables || backends <= 1 << 16);
}

static void fill_pair(struct routes *routes, size_t at)
{
	const struct routes_table *table = &routes->tables[at / TABLE_ROWS];
	const uint16_t *row = table->rows + at % TABLE_ROWS * 2;
	uint32_t first = routes_backend(routes, (uint32_t)(at / TABLE_ROWS), 0);

	if (routes->pair_bytes)
		routes->pair_bytes[at] = (uint16_t)(row[0] | row[1] << 8);
	else
		routes->pair_indices[at] = (first + row[0]) | (first + row[1]) << 16;
}

/* Without memory for the pairs there are none. Then packets only take longer. */
static void fill_pairs(struct routes *routes)
{
	size_t count = (size_t)routes->set.count * TABLE_ROWS;

	if (!has_pairs_only(routes))
		return;
	if (routes->small_tables) /* one entry more, because gathers read 4 bytes */
		routes->pair_bytes = big_alloc((count + 1) * sizeof(*routes->pair_bytes));
	else
		routes->pair_indices = big_alloc(count * sizeof(*routes->pair_indices));
	routes->pairs_only = routes->pair_bytes || routes->pair_indices;
	for (size_t at = 0; routes->pairs_only && at < count; at++)
		fill_pair(routes, at);
}

struct routes *routes_create(struct table_set *set, struct faults *faults)
{
	struct routes *routes = calloc(1, sizeof(*routes));

	if (!routes) {
		faults_error(faults, NULL, "out of memory");
		table_set_free(set);
		return NULL;
	}
	routes->set = *set;
	*set = (struct table_set){0};
	routes->classifier = classify_build(&routes->set);
	if (!routes->classifier || !fill_tables(routes) || !sort_addresses(routes)) {
		faults_error(faults, NULL, "out of memory");
		routes_free(routes);
		return NULL;
	}
	fill_pairs(routes);
	routes->portmap = portmap_build(routes->classifier);
	routes->digest = table_set_digest(&routes->set);
	return routes;
}

void routes_mark_first_hops(const struct routes *routes, bool *first)
{
	for (uint32_t t = 0; t < routes->set.count; t++) {
		const struct routes_table *table = &routes->tables[t];

		for (size_t at = 0; at < (size_t)TABLE_ROWS * table->row_hops; at += table->row_hops)
			first[routes_backend(routes, t, table->rows[at])] = true;
	}
}

size_t routes_classifier_memory(const struct routes *routes)
{
	return classify_memory(routes->classifier) + (routes->portmap ? routes->portmap->memory : 0);
}

void routes_free(struct routes *routes)
{
	if (!routes)
		return;
	portmap_free(routes->portmap);
	classify_free(routes->classifier);
	table_set_free(&routes->set);
	free(routes->addresses);
	free(routes->sorted);
	free(routes->pair_bytes);
	free(routes->pair_indices);
	free(routes);
}
