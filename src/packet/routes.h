/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes: a forwarding table file made ready for packets, with classifier, hash keys, rows and hop addresses. The
 * control thread builds routes and frees them. They are read-only in between. A worker refers to them for no longer
 * than a burst (RCU).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/faults.h"
#include "common/netaddr.h"
#include "gue/prebuilt.h"
#include "packet/burst.h"
#include "table/classify.h"
#include "packet/classifier/portmap.h"
#include "packet/quic_routes.h"
#include "table/table.h"

_Static_assert(TABLE_MAX_HOPS <= PREBUILT_MAX_HOPS, "the fast path has headers for each row");

/* The fast path loads this many bytes, from the byte in which a pair of hops starts. The first 0, 2, 4 or 6 bits are
 * not its. */
#define ROUTES_LOAD 4
_Static_assert(TABLE_MAX_BACKENDS <= 1 << (8 * ROUTES_LOAD - 6) / 2, "one load has the bits of two backend indices");

/* Enough for all packets with outer IPv4. */
#define ROUTES_LEAST_HEADROOM BURST_HEADROOM_FOR(NET_ETHERNET_SIZE + GUE_OUTER_SIZE(ENCAPSULATE_MAX_HOPS - 1))

struct routes_table {
	const uint8_t *hash_key;
	const uint16_t *rows; /* TABLE_ROWS * row_hops backend indices */
	/* The hop that a backend is, by index: its IPv4 address in network order, or the index of its address in
	 * `ipv6`. Backends with the same address are the same hop. */
	const uint32_t *addresses;
	const struct net_ipv6_address *ipv6; /* NULL: the backends have IPv4 addresses */
	uint8_t row_hops;
	struct quic_routes *quic; /* NULL: the table has no configuration of QUIC */
};

struct routes {
	struct classifier *classifier;
	struct portmap *portmap; /* compiled from the classifier */
	struct table_set set; /* what the routes were built from; `tables` below points into it */
	uint32_t *addresses; /* hops of all backends; those of table t start at stride * t; unused ones are 0 */
	struct net_ipv6_address *ipv6; /* addresses of all IPv6 backends, by the same indices; NULL: there are none */
	bool ipv6_only; /* all tables have IPv6 backends */
	/* The addresses of all backends in the order of netaddr_compare(); sorted_count of them, some maybe twice */
	struct netaddr *sorted;
	uint32_t sorted_count;
	/* The number of backends of the largest table, so that the tables lie side by side in the caches */
	uint32_t stride;
	uint32_t address_count; /* of `addresses`, with unused ones */
	/*
	 * A copy of all rows, as pairs of hops without gaps. A hop is a backend index of hop_bits bits, and the first
	 * hop of a pair has the lower ones. Pair p starts at bit 2 * hop_bits * p, counted from the lowest bit of the
	 * first byte. A row has 1 << pair_shift pairs, and where it has fewer hops, its first one takes their place.
	 */
	uint8_t *pairs;
	uint8_t hop_bits;
	uint8_t pair_shift;
	bool pairs_whole; /* the copy has all hops of all rows */
	bool rows_shared; /* some tables have the same rows, and share their copy */
	bool pairs_only; /* every row has two different hops */
	/* The fast path loads the pairs one by one, not by a gather. Only for one table with hops of 8 bits, one pair
	 * in each row, and pairs that are not far */
	bool pairs_scalar;
	bool pairs_far; /* the second cache of a core does not hold all pairs */
	uint32_t row_starts[TABLE_MAX_TABLES]; /* by table: index of the first row in the copy */
	/* Hops of a row of each table, or 0 if the fast path cannot take its packets: a row of more than two hops
	 * repeats one. */
	uint32_t hop_counts[TABLE_MAX_TABLES];
	uint32_t outer_ipv6[TABLE_MAX_TABLES]; /* 1: the packets of this table get outer IPv6 */
	bool quic; /* a table has configurations of QUIC, and a bind for it */
	uint32_t *down; /* 1: the backend with this index in `addresses` is down. NULL: none with QUIC is */
	uint32_t headroom[2]; /* routes_headroom() without and with alt_hash_fields */
	uint64_t digest; /* table_set_digest() */
	uint64_t first_hops; /* table_set_first_hops() */
	struct routes_table tables[TABLE_MAX_TABLES];
	struct siphash_state keys[TABLE_MAX_TABLES]; /* SipHash states that have absorbed the hash key of each table */
};

/*
 * Takes over *set and leaves it empty, also on failure. NULL: out of memory, which faults gets as an error. The caller
 * frees the result with routes_free().
 */
struct routes *routes_create(struct table_set *set, struct faults *faults);
void routes_free(struct routes *routes);

/* The index in `addresses` of backend `backend` of table `table`. */
static inline uint32_t routes_backend(const struct routes *routes, uint32_t table, uint32_t backend)
{
	return routes->stride * table + backend;
}

/* The bytes before a frame that are enough for the outer headers of any packet, as BURST_HEADROOM. alt_fields:
 * alt_hash_fields of the steering config. */
static inline uint32_t routes_headroom(const struct routes *routes, uint8_t alt_fields)
{
	return routes->headroom[alt_fields != 0];
}

/* Sets first[i] for each index i in `addresses` that is the first hop of a row. first: address_count entries. */
void routes_mark_first_hops(const struct routes *routes, bool *first);

/* The address of the backend with this index in `addresses`. NETADDR_NONE: the index is not used. */
struct netaddr routes_address(const struct routes *routes, uint32_t index);

/* The address of a hop of this table's packets. */
struct netaddr routes_hop(const struct routes *routes, uint16_t table, uint32_t hop);

/* Returns whether a table has a backend with this address. */
bool routes_has_backend(const struct routes *routes, const struct netaddr *address);

/* Returns whether each row of the table names different addresses. */
bool routes_rows_are_distinct(const struct table *table);

/* Size in bytes of the classifier and the port maps, for users. */
size_t routes_classifier_memory(const struct routes *routes);
