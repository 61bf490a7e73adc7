/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/routes.h"

#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "packet/big_alloc.h"

/* Bytes of pairs that stay in the second cache of a core, which has 512 KB to 2 MB, beside the packets. */
#define NEAR (512 << 10)

/* Bytes of pairs whose bits 32 bits can number. */
#define MOST ((size_t)1 << 29)
_Static_assert(TABLE_MAX_TABLES *TABLE_ROWS * sizeof(uint32_t) <= MOST,
	"the first pairs of all rows fit, with less than 32 bits each");

static uint32_t address_of(const struct table *table, uint16_t backend)
{
	uint32_t address;

	memcpy(&address, table->backends[backend].addr.bytes, sizeof(address));
	return address;
}

/*
 * A row of a binary table can have an address twice. Version 2 names the only hop of a row twice, and a file may list
 * one address as two backends.
 */
bool routes_rows_are_distinct(const struct table *table)
{
	const uint16_t *row = table->rows;
	bool distinct = true;

	for (uint32_t r = 0; r < TABLE_ROWS; r++, row += table->row_hops)
		for (unsigned i = 1; i < table->row_hops; i++)
			for (unsigned j = 0; j < i; j++)
				distinct &= row[i] != row[j] && address_of(table, row[i]) != address_of(table, row[j]);
	return distinct;
}

/* The bytes of this many pairs. */
static size_t pairs_size(const struct routes *routes, size_t pairs)
{
	return pairs * 2 * routes->hop_bits / 8;
}

/* The pairs that the copy needs for a row of this table. */
static uint32_t pair_shift(const struct table *table)
{
	return table->row_hops <= 2 ? 0 : table->row_hops <= 4 ? 1 : 2;
}

/*
 * Decides how many pairs of each row the copy has: all, unless a few tables with many hops would make the copy more
 * than twice as large as the tables need, or 32 bits could not number its bits.
 */
static void choose_pairs(struct routes *routes)
{
	const struct table_set *set = &routes->set;
	uint32_t needed = 0, most = 0;

	for (uint32_t t = 0; t < set->count; t++) {
		needed += 1u << pair_shift(&set->tables[t]);
		most = most < pair_shift(&set->tables[t]) ? pair_shift(&set->tables[t]) : most;
	}
	if (set->count << most <= 2 * needed && pairs_size(routes, (size_t)TABLE_ROWS * set->count << most) <= MOST)
		routes->pair_shift = (uint8_t)most;
	routes->pairs_whole = routes->pair_shift == most;
}

/* Finds the place of each table in the copy. Returns the number of pairs. */
static size_t place_rows(struct routes *routes)
{
	const struct table_set *set = &routes->set;
	uint32_t size = (uint32_t)TABLE_ROWS << routes->pair_shift, end = 0;

	for (uint32_t t = 0; t < set->count; t++) {
		uint32_t same = 0;

		while (set->tables[same].rows != set->tables[t].rows)
			same++;
		routes->rows_shared |= same != t;
		routes->row_starts[t] = same == t ? end : routes->row_starts[same];
		end += same == t ? size : 0;
	}
	return end;
}

static bool alloc_arrays(struct routes *routes)
{
	const struct table_set *set = &routes->set;
	size_t pairs;

	for (uint32_t t = 0; t < set->count; t++)
		if (routes->stride < set->tables[t].backend_count)
			routes->stride = set->tables[t].backend_count;
	routes->hop_bits = 1;
	while (1u << routes->hop_bits < routes->stride)
		routes->hop_bits++;
	choose_pairs(routes);
	pairs = place_rows(routes);
	if (routes->hop_bits < 8 && pairs * 2 <= NEAR)
		routes->hop_bits = 8; /* bytes are faster, as long as they are near */
	routes->pairs_far = pairs_size(routes, pairs) > NEAR;
	routes->address_count = routes->stride * set->count;
	routes->addresses = calloc(routes->address_count + 1, sizeof(*routes->addresses));
	routes->pairs = big_alloc(pairs_size(routes, pairs) + ROUTES_LOAD);
	return routes->addresses && routes->pairs;
}

static void fill_pairs(struct routes *routes, uint32_t t)
{
	const struct routes_table *table = &routes->tables[t];
	const uint16_t *row = table->rows;
	uint8_t *to = routes->pairs + pairs_size(routes, routes->row_starts[t]);
	uint64_t bits = 0;
	uint32_t count = 0; /* of `bits`; none are left after the last row */

	for (uint32_t r = 0; r < TABLE_ROWS; r++, row += table->row_hops)
		for (unsigned hop = 0; hop < 2u << routes->pair_shift; hop++) {
			bits |= (uint64_t)row[hop < table->row_hops ? hop : 0] << count;
			count += routes->hop_bits;
			if (count < 32)
				continue;
			store_le32(to, (uint32_t)bits);
			to += 4;
			bits >>= 32;
			count -= 32;
		}
}

static void fill_table(struct routes *routes, uint32_t t)
{
	const struct table *table = &routes->set.tables[t];
	uint32_t *addresses = routes->addresses + (size_t)routes->stride * t;
	bool distinct;

	routes->tables[t] = (struct routes_table){
		.hash_key = table->hash_key,
		.rows = table->rows,
		.addresses = addresses,
		.row_hops = table->row_hops,
	};
	for (uint32_t i = 0; i < table->backend_count; i++)
		memcpy(&addresses[i], table->backends[i].addr.bytes, sizeof(*addresses));
	distinct = routes_rows_are_distinct(table);
	routes->hop_counts[t] = distinct || table->row_hops <= 2 ? table->row_hops : 0;
	routes->pairs_only &= distinct && table->row_hops == 2;
	siphash_begin(&routes->keys[t], table->hash_key);
	if (!table->borrows_rows)
		fill_pairs(routes, t);
}

static bool fill_tables(struct routes *routes)
{
	if (!alloc_arrays(routes))
		return false;
	routes->pairs_only = true;
	for (uint32_t t = 0; t < routes->set.count; t++)
		fill_table(routes, t);
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

struct routes *routes_create(struct table_set *set, struct faults *faults)
{
	struct routes *routes = calloc(1, sizeof(*routes));

	for (uint32_t t = 0; t < set->count; t++)
		if (set->tables[t].backends[0].addr.family == NETADDR_V6) {
			faults_error(faults, "tables",
				"have proxies with IPv6 addresses, to which the director cannot send yet");
			table_set_free(set);
			free(routes);
			return NULL;
		}
	if (!routes) {
		faults_error(faults, NULL, "out of memory");
		table_set_free(set);
		return NULL;
	}
	routes->set = *set;
	*set = (struct table_set){0};
	routes->classifier = classify_build(&routes->set);
	routes->portmap = routes->classifier ? portmap_build(routes->classifier, &portmap_limits) : NULL;
	if (!routes->portmap || !fill_tables(routes) || !sort_addresses(routes)) {
		faults_error(faults, NULL, "out of memory");
		routes_free(routes);
		return NULL;
	}
	routes->digest = table_set_digest(&routes->set);
	routes->first_hops = table_set_first_hops(&routes->set);
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
	return classify_memory(routes->classifier) + routes->portmap->memory;
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
	free(routes->pairs);
	free(routes);
}
