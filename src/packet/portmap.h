/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Port maps: the classifier compiled for speed. A lookup costs the same for any number of binds. For each prefix length
 * in use, longest first, a perfect hash finds the prefix that covers the destination. Each prefix has a port map for
 * each protocol: an array with the lowest table for every port. Prefixes with equal port maps share one. Built once,
 * read-only afterwards.
 *
 * Addresses here are integers that were loaded little-endian from bytes in network order.
 */
#ifndef GLB_PACKET_PORTMAP_H
#define GLB_PACKET_PORTMAP_H

#include <stddef.h>
#include <stdint.h>

#include "packet/classify.h"
#include "packet/perfect.h"

#define PORTMAP_MAX_LEVELS 8 /* distinct prefix lengths of a family */
#define PORTMAP_MAX_MAPS   1024 /* 64 KB each */
#define PORTMAP_PORTS      65536

/*
 * A prefix, in its slot of the perfect hash. A free slot has an address whose own slot is another one, so it never
 * matches.
 */
struct portmap_v4_slot {
	uint32_t address;
	uint16_t maps[2]; /* port map for TCP, for UDP */
};

/* All prefixes of one length. */
struct portmap_v4_level {
	struct perfect hash; /* keys: addresses of the prefixes */
	uint32_t mask;
	struct portmap_v4_slot *slots;
};

struct portmap_v6_slot {
	uint64_t address[2];
	uint16_t maps[2];
	uint8_t pad[12]; /* to 32 bytes, half a cache line */
};

struct portmap_v6_level {
	struct perfect hash; /* keys: addresses of the prefixes, through portmap_fold() */
	uint32_t factors[4];
	uint64_t mask[2];
	struct portmap_v6_slot *slots;
};

struct portmap {
	unsigned v4_levels, v6_levels;
	struct portmap_v4_level v4[PORTMAP_MAX_LEVELS];
	struct portmap_v6_level v6[PORTMAP_MAX_LEVELS];
	/*
	 * maps[map * PORTMAP_PORTS + port] is the table index + 1, or 0 if no bind matches. Map 0 is all 0. The array
	 * has 3 extra bytes at the end, because SIMD code reads 4 bytes for each entry.
	 */
	uint8_t *maps;
	uint32_t map_count;
	size_t memory; /* bytes of all allocations, this struct included */
};

/* Folds an address into 32 bits. The factors are chosen so that the prefixes of a level have different results. */
static inline uint32_t portmap_fold(const uint32_t factors[4], uint64_t low, uint64_t high)
{
	uint64_t sum = (low & UINT32_MAX) * factors[0] + (low >> 32) * factors[1] + (high & UINT32_MAX) * factors[2] +
		       (high >> 32) * factors[3];

	return (uint32_t)(sum >> 32);
}

/*
 * NULL: out of memory, or more levels or maps than the limits above. Then the caller uses the classifier itself. The
 * caller frees the result with portmap_free(). It does not refer to the classifier.
 */
struct portmap *portmap_build(const struct classifier *classifier);
void portmap_free(struct portmap *portmap);

/* Returns the same as classify_port(). */
int portmap_find(
	const struct portmap *portmap, uint8_t family, const uint8_t *destination, uint8_t protocol, uint16_t port);

#endif
