/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Port maps: the classifier compiled for speed. A lookup costs the same for any number of binds. For each prefix length
 * in use, longest first, a perfect hash finds the prefix that covers the destination. Each prefix has a port map for
 * each protocol, which has the lowest order for every port. A port map is a list of pages, each for 256 ports. Prefixes
 * with equal port maps share one, and port maps share equal pages. Built once, read-only afterwards.
 *
 * Ports for which there was no room have the entry PORTMAP_MISFIT. The caller asks the classifier for them.
 *
 * Addresses here are integers that were loaded little-endian from bytes in network order.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "table/classify.h"
#include "packet/classifier/perfect.h"
#include "table/table_mask.h"

#define PORTMAP_MAX_MAPS   65536 /* with the two constant ones */
#define PORTMAP_MAX_PAGES  65536 /* with the two constant ones */
#define PORTMAP_FLAT_MAPS  256 /* 32 MB */
#define PORTMAP_PAGE_PORTS 256 /* ports in a page, and pages in a port map */

#define PORTMAP_CONSTANTS 2 /* port maps, and pages, whose entries are all the same; the others come from binds */

/* An entry of a page is classify_order() + 1, PORTMAP_NONE if no bind matches, or PORTMAP_MISFIT. */
#define PORTMAP_NONE   0
#define PORTMAP_MISFIT UINT16_MAX

/* Result of portmap_find(): ask the classifier. Not one of CLASSIFY_*. */
#define PORTMAP_UNKNOWN (-3)

/*
 * A prefix, in its slot of the perfect hash. A free slot has an address whose own slot is another one, so it never
 * matches.
 */
struct portmap_v4_slot {
	uint32_t address;
	uint16_t maps[2]; /* port map for TCP, for UDP */
};

/* Prefixes of one length. A length has several levels if one perfect hash cannot hold all of its prefixes. */
struct portmap_v4_level {
	struct perfect hash; /* keys: addresses of the prefixes */
	uint32_t mask;
	struct portmap_v4_slot *slots;
	uint32_t *prefixes; /* by slot: the index of the prefix in the classifier */
};

struct portmap_v6_slot {
	uint64_t address[2];
	uint16_t maps[2];
	uint32_t prefix; /* index in the classifier */
	uint8_t pad[8]; /* to 32 bytes, half a cache line */
};

struct portmap_v6_level {
	struct perfect hash; /* keys: addresses of the prefixes, through portmap_fold() */
	uint32_t factors[4];
	uint64_t mask[2];
	struct portmap_v6_slot *slots;
};

struct portmap {
	/* Longest prefixes first. */
	unsigned v4_levels, v6_levels;
	struct portmap_v4_level *v4;
	struct portmap_v6_level *v6;
	/*
	 * maps[map * PORTMAP_PAGE_PORTS + port / PORTMAP_PAGE_PORTS] is the page of a port, and
	 * pages[page * PORTMAP_PAGE_PORTS + port % PORTMAP_PAGE_PORTS] its entry. Map 0 and page 0 have only
	 * PORTMAP_NONE, map 1 and page 1 only PORTMAP_MISFIT. All arrays end with 2 bytes more, because SIMD code reads
	 * 4 bytes for each element.
	 */
	uint16_t *maps;
	uint16_t *pages;
	/*
	 * A copy of all maps that saves a lookup: flat[port * map_count + map] is an entry. The entries of a port lie
	 * side by side, because most packets go to few ports of many maps. NULL: there are too many maps.
	 */
	uint16_t *flat;
	uint32_t map_count, page_count;
	uint32_t misfits; /* prefixes with a port that has PORTMAP_MISFIT */
	struct table_mask misfit_tables; /* that have a bind of such a prefix */
	size_t memory; /* bytes of all allocations, this struct included */
};

/* How many port maps and pages there may be. Tests set lower limits. */
struct portmap_limits {
	uint32_t maps, pages; /* 2 to PORTMAP_MAX_MAPS and PORTMAP_MAX_PAGES */
	uint32_t flat_maps; /* more maps than these have no flat copy */
};

extern const struct portmap_limits portmap_limits; /* the limits of the program */

/* Folds an address into 32 bits. The factors are chosen so that the prefixes of a level have different results. */
static inline uint32_t portmap_fold(const uint32_t factors[4], uint64_t low, uint64_t high)
{
	uint64_t sum = (low & UINT32_MAX) * factors[0] + (low >> 32) * factors[1] + (high & UINT32_MAX) * factors[2] +
		       (high >> 32) * factors[3];

	return (uint32_t)(sum >> 32);
}

/*
 * NULL: out of memory. The caller frees the result with portmap_free(). It does not refer to the classifier.
 */
struct portmap *portmap_build(const struct classifier *classifier, const struct portmap_limits *limits);
void portmap_free(struct portmap *portmap);

/* Returns classify_order() of classify_port(), or PORTMAP_UNKNOWN. */
int portmap_find(
	const struct portmap *portmap, uint8_t family, const uint8_t *destination, uint8_t protocol, uint16_t port);

/* Returns the longest prefix that covers the destination: its index in the classifier, or CLASSIFY_NO_PREFIX. */
uint32_t portmap_prefix(const struct portmap *portmap, uint8_t family, const uint8_t *destination);
