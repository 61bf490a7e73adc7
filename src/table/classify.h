/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The classifier finds the table and the bind that match a destination. It is built once from the binds and read-only
 * afterwards, so any thread may look up.
 *
 * The distinct prefixes of all binds form a forest: the parent of a prefix is the next shorter one that covers it. Each
 * prefix has, for each protocol, disjoint port ranges with the first of its own binds: the one with the lowest index in
 * the lowest table. A lookup finds the longest prefix that covers the destination, and takes the first bind over this
 * prefix and its ancestors. It probes a hash table once for each distinct prefix length of the family. Memory is linear
 * in the number of binds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/table.h"

struct classifier;

/* A range of ports that binds of one prefix and protocol cover. The ranges of a prefix are disjoint and ascending. */
struct classify_range {
	uint16_t start, end; /* inclusive */
	uint16_t order; /* the lowest classify_order() of such a bind */
};

/* The same for each bind of the prefix that is the first for some of its ports. */
struct classify_bind_range {
	uint16_t start, end; /* inclusive */
	uint32_t number; /* of the bind, as a lookup returns it */
};

struct classify_prefix {
	struct netprefix prefix;
	uint32_t parent; /* index of the parent, less than the index of this prefix; or CLASSIFY_NO_PREFIX */
	const struct classify_range *ranges[2]; /* TCP, UDP */
	uint32_t counts[2];
	const struct classify_bind_range *binds[2];
	uint32_t bind_counts[2];
};

#define CLASSIFY_NO_PREFIX UINT32_MAX

#define CLASSIFY_BINDS (1 << 20) /* numbers of a table; with TABLE_MAX_TABLES tables, all numbers fit an int */
/* Added to the index of a bind without QUIC, so that in each table the binds with QUIC come first. */
#define CLASSIFY_NOT_QUIC (CLASSIFY_BINDS / 2)
_Static_assert(TABLE_MAX_BINDS <= CLASSIFY_NOT_QUIC, "a table has no more binds than numbers");

enum {
	CLASSIFY_NONE = -1, /* no bind matches */
	CLASSIFY_AMBIGUOUS = -2, /* binds of several tables match; only from classify_fragment() */
};

/* NULL: out of memory. The caller frees the classifier with classify_free(). It does not refer to the set. */
struct classifier *classify_build(const struct table_set *set);
void classify_free(struct classifier *classifier);

/* Size in bytes, for users. */
size_t classify_memory(const struct classifier *classifier);

/* The distinct prefixes of all binds. */
uint32_t classify_prefix_count(const struct classifier *classifier);
struct classify_prefix classify_prefix_at(const struct classifier *classifier, uint32_t index);

/* The index of the longest prefix that covers the address, or CLASSIFY_NO_PREFIX. */
uint32_t classify_prefix_of(const struct classifier *classifier, const struct netaddr *addr);

/*
 * The lookups return the number of a bind, table * CLASSIFY_BINDS + index in the table (+ CLASSIFY_NOT_QUIC), or
 * CLASSIFY_NONE or CLASSIFY_AMBIGUOUS. destination: 4 or 16 bytes by family (enum netaddr_family), network order.
 */

/* The first bind for address, protocol and port (host order). */
int classify_port(const struct classifier *classifier, uint8_t family, const uint8_t *destination, uint8_t protocol,
	uint16_t port);

/* The first bind for the address, whatever its protocol and ports: for pings. */
int classify_address(const struct classifier *classifier, uint8_t family, const uint8_t *destination);

/* The same, but CLASSIFY_AMBIGUOUS if several tables have binds for the address: for packets without ports. */
int classify_fragment(const struct classifier *classifier, uint8_t family, const uint8_t *destination);

/* The same two lookups for the longest prefix that covers the address: its index, or CLASSIFY_NO_PREFIX if there is
 * none. */
int classify_address_of(const struct classifier *classifier, uint32_t prefix);
int classify_fragment_of(const struct classifier *classifier, uint32_t prefix);

/* Returns whether a bind covers the address. A bind for all addresses of its family does not count. */
bool classify_covers(const struct classifier *classifier, uint8_t family, const uint8_t *address);

/* The table of a bind that a lookup returned. A negative result stays as it is. */
static inline int classify_table(int found)
{
	return found < 0 ? found : found / CLASSIFY_BINDS;
}

/* The index in its table of a bind that a lookup returned. */
static inline uint32_t classify_bind(int found)
{
	return (uint32_t)found % CLASSIFY_NOT_QUIC;
}

/* Binds of lower order win: 2 * table, + 1 without QUIC. A negative result stays as it is. */
static inline int classify_order(int found)
{
	return found < 0 ? found : found / CLASSIFY_NOT_QUIC;
}

static inline bool classify_order_has_quic(int order)
{
	return order % 2 == 0;
}
