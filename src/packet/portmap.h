/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The classifier compiled for speed: a lookup costs the same whatever the number of binds. For each
 * prefix length in use, the longest first, a perfect hash finds the destination's prefix; the
 * prefix has, for each protocol, a map of all ports to the lowest table. Equal maps are kept once.
 * Built once, then read-only. Addresses are loads of network-order bytes.
 */
#ifndef GLB_PACKET_PORTMAP_H
#define GLB_PACKET_PORTMAP_H

#include <stddef.h>
#include <stdint.h>

#include "packet/classify.h"
#include "packet/perfect.h"

#define PORTMAP_MAX_LEVELS 8 /* lengths in use, of a family */
#define PORTMAP_MAX_MAPS   1024 /* 64 MB */
#define PORTMAP_PORTS      65536

/* An unused slot holds an address that belongs to another one, so it matches nothing. */
struct portmap_v4_slot {
	uint32_t address;
	uint16_t maps[2]; /* TCP, UDP */
};

struct portmap_v4_level {
	struct perfect hash; /* of the masked address */
	uint32_t mask;
	struct portmap_v4_slot *slots;
};

struct portmap_v6_slot {
	uint64_t address[2];
	uint16_t maps[2];
	uint8_t pad[12]; /* 32 bytes: half a cache line */
};

struct portmap_v6_level {
	struct perfect hash; /* of portmap_fold() of the masked address */
	uint32_t factors[4];
	uint64_t mask[2];
	struct portmap_v6_slot *slots;
};

struct portmap {
	unsigned v4_levels, v6_levels;
	struct portmap_v4_level v4[PORTMAP_MAX_LEVELS];
	struct portmap_v6_level v6[PORTMAP_MAX_LEVELS];
	/* maps[map * PORTMAP_PORTS + port]: the table + 1, or 0; map 0 is all 0. Three bytes more
	 * may be read. */
	uint8_t *maps;
	uint32_t map_count;
	size_t memory;
};

/* Distinct for the prefixes of the level. */
static inline uint32_t portmap_fold(const uint32_t factors[4], uint64_t low, uint64_t high)
{
	uint64_t sum = (low & UINT32_MAX) * factors[0] + (low >> 32) * factors[1] + (high & UINT32_MAX) * factors[2] +
		       (high >> 32) * factors[3];

	return (uint32_t)(sum >> 32);
}

/* NULL: out of memory, or over the bounds above; then the classifier has to do. The caller frees it
 * with portmap_free(). */
struct portmap *portmap_build(const struct classifier *classifier);
void portmap_free(struct portmap *portmap);

/* As classify_port(). */
int portmap_find(
	const struct portmap *portmap, uint8_t family, const uint8_t *destination, uint8_t protocol, uint16_t port);

#endif
