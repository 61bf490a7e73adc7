/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/routes.h"

#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/isa.h"
#include "packet/big_alloc.h"

/* Bytes of pairs that stay in the second cache of a core, which has 512 KB to 2 MB, beside the packets. */
#define NEAR (512 << 10)

/* Bytes of pairs whose bits 32 bits can number. */
#define MOST ((size_t)1 << 29)
_Static_assert(TABLE_MAX_TABLES *TABLE_ROWS * sizeof(uint32_t) <= MOST,
	"the first pairs of all rows fit, with less than 32 bits each");

static bool is_same_address(const struct table *table, uint16_t a, uint16_t b)
{
	return memcmp(table->backends[a].addr.bytes, table->backends[b].addr.bytes, 16) == 0;
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
				distinct &= row[i] != row[j] && !is_same_address(table, row[i], row[j]);
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
	bool ipv6 = false;
	size_t pairs;

	for (uint32_t t = 0; t < set->count; t++) {
		ipv6 |= set->tables[t].backends[0].addr.family == NETADDR_V6;
		if (routes->stride < set->tables[t].backend_count)
			routes->stride = set->tables[t].backend_count;
	}
	routes->hop_bits = 1;
	while (1u << routes->hop_bits < routes->stride)
		routes->hop_bits++;
	choose_pairs(routes);
	pairs = place_rows(routes);
	if (routes->hop_bits < 8 && pairs * 2 <= NEAR)
		routes->hop_bits = 8; /* bytes are faster, as long as they are near */
	routes->pairs_far = pairs_size(routes, pairs) > NEAR;
	routes->pairs_scalar = isa_gathers_slowly() && routes->set.count == 1 && routes->hop_bits == 8 &&
			       routes->pair_shift == 0 && !routes->pairs_far;
	routes->address_count = routes->stride * set->count;
	routes->addresses = calloc(routes->address_count + 1, sizeof(*routes->addresses));
	if (ipv6)
		routes->ipv6 = calloc(routes->address_count, sizeof(*routes->ipv6));
	routes->pairs = big_alloc(pairs_size(routes, pairs) + ROUTES_LOAD);
	return routes->addresses && routes->pairs && (routes->ipv6 || !ipv6);
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

/* Fills the hops of the backends of a table. */
static bool fill_addresses(struct routes *routes, uint32_t t)
{
	const struct table *table = &routes->set.tables[t];
	size_t start = routes_backend(routes, t, 0);
	uint32_t *addresses = routes->addresses + start, *order, first = 0;

	for (uint32_t i = 0; i < table->backend_count && !routes->outer_ipv6[t]; i++)
		memcpy(&addresses[i], table->backends[i].addr.bytes, sizeof(*addresses));
	if (!routes->outer_ipv6[t])
		return true;
	order = table_backend_order(table);
	for (uint32_t at = 0; order && at < table->backend_count; at++) {
		uint32_t i = order[at];

		memcpy(&routes->ipv6[start + i], table->backends[i].addr.bytes, sizeof(*routes->ipv6));
		if (at == 0 || !is_same_address(table, (uint16_t)first, (uint16_t)i))
			first = i;
		addresses[i] = (uint32_t)start + first;
	}
	free(order);
	return order;
}

/* Raises the headroom to that of packets of an IPv6 table, with the hops of one row or of two. */
static void raise_headroom(struct routes *routes, unsigned row_hops)
{
	for (unsigned rows = 1; rows <= 2; rows++) {
		uint32_t size = encapsulate_size(true, encapsulate_hops(true, row_hops * rows));
		uint32_t needed = BURST_HEADROOM_FOR(size);

		if (routes->headroom[rows - 1] < needed)
			routes->headroom[rows - 1] = needed;
	}
}

static bool has_quic(const struct table *table)
{
	bool bound = false;

	for (uint32_t i = 0; i < table->bind_count; i++)
		bound |= table->binds[i].quic;
	return bound && table->quic_count;
}

static bool fill_quic(struct routes *routes, uint32_t t)
{
	const struct table *table = &routes->set.tables[t];
	uint32_t first = routes_backend(routes, t, 0);

	if (!has_quic(table))
		return true;
	for (uint32_t i = 0; i < table->backend_count; i++) {
		if (table->backends[i].healthy)
			continue;
		if (!routes->down)
			routes->down = calloc(routes->address_count, sizeof(*routes->down));
		if (!routes->down)
			return false;
		routes->down[first + i] = 1;
	}
	routes->quic = true;
	routes->tables[t].quic = quic_routes_create(table, first);
	return routes->tables[t].quic;
}

static bool fill_table(struct routes *routes, uint32_t t)
{
	const struct table *table = &routes->set.tables[t];
	bool distinct;

	routes->outer_ipv6[t] = table->backends[0].addr.family == NETADDR_V6;
	routes->ipv6_only &= routes->outer_ipv6[t];
	routes->tables[t] = (struct routes_table){
		.hash_key = table->hash_key,
		.rows = table->rows,
		.addresses = routes->addresses + routes_backend(routes, t, 0),
		.ipv6 = routes->outer_ipv6[t] ? routes->ipv6 : NULL,
		.row_hops = table->row_hops,
	};
	distinct = routes_rows_are_distinct(table);
	routes->hop_counts[t] = distinct || table->row_hops <= 2 ? table->row_hops : 0;
	routes->pairs_only &= distinct && table->row_hops == 2;
	if (routes->outer_ipv6[t])
		raise_headroom(routes, table->row_hops);
	siphash_begin(&routes->keys[t], table->hash_key);
	if (!table->borrows_rows)
		fill_pairs(routes, t);
	return fill_addresses(routes, t) && fill_quic(routes, t);
}

static bool fill_tables(struct routes *routes)
{
	if (!alloc_arrays(routes))
		return false;
	routes->pairs_only = true;
	routes->headroom[0] = routes->headroom[1] = ROUTES_LEAST_HEADROOM;
	routes->ipv6_only = true;
	for (uint32_t t = 0; t < routes->set.count; t++)
		if (!fill_table(routes, t))
			return false;
	return true;
}

static int compare_addresses(const void *a, const void *b)
{
	return netaddr_compare(a, b);
}

static bool sort_addresses(struct routes *routes)
{
	const struct table_set *set = &routes->set;

	routes->sorted = calloc(routes->address_count + 1u, sizeof(*routes->sorted));
	for (uint32_t t = 0; routes->sorted && t < set->count; t++)
		for (uint32_t i = 0; i < set->tables[t].backend_count; i++)
			routes->sorted[routes->sorted_count++] = set->tables[t].backends[i].addr;
	if (routes->sorted)
		qsort(routes->sorted, routes->sorted_count, sizeof(*routes->sorted), compare_addresses);
	return routes->sorted;
}

struct netaddr routes_address(const struct routes *routes, uint32_t index)
{
	uint32_t t = routes->stride ? index / routes->stride : 0, backend = index - t * routes->stride;

	if (t >= routes->set.count || backend >= routes->set.tables[t].backend_count)
		return (struct netaddr){0};
	return routes->set.tables[t].backends[backend].addr;
}

struct netaddr routes_hop(const struct routes *routes, uint16_t table, uint32_t hop)
{
	const struct net_ipv6_address *ipv6 = routes->tables[table].ipv6;

	return ipv6 ? netaddr_from_bytes(NETADDR_V6, &ipv6[hop]) : netaddr_from_bytes(NETADDR_V4, &hop);
}

bool routes_has_backend(const struct routes *routes, const struct netaddr *address)
{
	return bsearch(address, routes->sorted, routes->sorted_count, sizeof(*address), compare_addresses);
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
	for (uint32_t t = 0; t < TABLE_MAX_TABLES && routes->quic; t++)
		quic_routes_free(routes->tables[t].quic);
	free(routes->down);
	free(routes->addresses);
	free(routes->ipv6);
	free(routes->sorted);
	free(routes->pairs);
	explicit_bzero(routes->keys, sizeof(routes->keys));
	free(routes);
}
