/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which table's binds match a destination. Built once from the binds, then read-only, so any thread may look up.
 *
 * The distinct prefixes of all binds form a forest; a destination belongs to its longest one. Each prefix keeps, for each
 * protocol, disjoint port ranges with the lowest table of its own binds; the answer is the lowest over the prefix and its
 * ancestors. Size is linear in the number of binds, a lookup takes a probe for each distinct prefix length.
 */
#ifndef GLB_PACKET_CLASSIFY_H
#define GLB_PACKET_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>

#include "table/table.h"

struct classifier;

/* Ports of a prefix's own binds for a protocol: disjoint, ascending. */
struct classify_range {
	uint16_t start, end; /* inclusive */
	uint8_t table; /* the lowest that claims them */
};

struct classify_prefix {
	struct netprefix prefix;
	uint32_t parent; /* its index, below this one's; CLASSIFY_NO_PARENT where nothing shorter
			    covers the prefix */
	const struct classify_range *ranges[2]; /* TCP, UDP */
	uint32_t counts[2];
};

#define CLASSIFY_NO_PARENT UINT32_MAX

enum {
	CLASSIFY_NONE = -1, /* no bind matches */
	CLASSIFY_AMBIGUOUS = -2, /* only from classify_fragment() */
};

/* NULL: out of memory. The caller frees it with classify_free(). Keeps nothing of the set. */
struct classifier *classify_build(const struct table_set *set);
void classify_free(struct classifier *classifier);

/* Bytes that it occupies. */
size_t classify_memory(const struct classifier *classifier);

/* The distinct prefixes of all binds, for what is compiled from them. */
uint32_t classify_prefix_count(const struct classifier *classifier);
struct classify_prefix classify_prefix_at(const struct classifier *classifier, uint32_t index);

/* destination: 4 or 16 bytes by family (enum netaddr_family), network order. All return a table index or CLASSIFY_*. */

/* The lowest table with a bind for address, protocol and port (host order). */
int classify_port(const struct classifier *classifier, uint8_t family, const uint8_t *destination, uint8_t protocol,
	uint16_t port);

/* The lowest table with any bind for the address: for pings. */
int classify_address(const struct classifier *classifier, uint8_t family, const uint8_t *destination);

/* The only table with binds for the address; CLASSIFY_AMBIGUOUS where several have: for packets without ports. */
int classify_fragment(const struct classifier *classifier, uint8_t family, const uint8_t *destination);

#endif
