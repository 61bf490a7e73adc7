/* SPDX-License-Identifier: BSD-3-Clause */
/* The fast path's first stages: frames to lanes, lanes to what is ordinary. Only for lanes.c. */
#ifndef GLB_DIRECTOR_LANES_PARSE_H
#define GLB_DIRECTOR_LANES_PARSE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/byteorder.h"
#include "director/burst.h"
#include "director/lanes_vector.h"
#include "gue/template.h"

enum {
	ETHERNET_SIZE = 14,
	V4_SMALLEST = ETHERNET_SIZE + 20 +
		      8, /* as many bytes must be readable to load all that is looked at */
	V6_SMALLEST = ETHERNET_SIZE + 40 + 8,
	TYPE_V4 = 0x0008, /* as loaded little-endian */
	TYPE_V6 = 0xdd86,
	MAX_WORDS = 5, /* of a hash's message: two IPv6 addresses and ports */
};

/* Packets of one family, gathered from the burst: as many as are loaded, then zeros up to the end
 * of a block. */
struct lanes {
	uint32_t count;
	const uint8_t *index; /* in the burst: all lanes, or those in the list */
	uint8_t list[BURST_MAX];
	uint32_t size[BURST_MAX];    /* behind the Ethernet header */
	uint32_t first[BURST_MAX];   /* IPv4: bytes 0..3. IPv6: the same */
	uint32_t second[BURST_MAX];  /* IPv4: bytes 6..9. IPv6: bytes 4..7 */
	uint32_t ports[BURST_MAX];   /* source, destination */
	uint64_t ends[4][BURST_MAX]; /* IPv4: source and destination in [0]. IPv6: two each */
};

/* A block's results, stage by stage. */
struct block {
	uint32_t total[BLOCK];     /* bytes of the IP packet */
	uint32_t ok[BLOCK];        /* ordinary so far */
	uint32_t unmatched[BLOCK]; /* ordinary, but for no table: dropped */
	uint32_t udp[BLOCK];
	uint32_t map[BLOCK];
	uint32_t table[BLOCK];
	uint64_t hash[BLOCK], alt_hash[BLOCK];
	uint32_t hops[TEMPLATE_MAX_HOPS][BLOCK];
	uint32_t patches[BLOCK][4]; /* total length, checksum; first hop; source port, UDP length;
				       second hop */
	uint32_t hop_count[BLOCK];
} __attribute__((aligned(64)));

INLINE void load_v4(struct lanes *lanes, const struct burst *burst, uint32_t at, uint32_t lane)
{
	const uint8_t *ip = burst->frame[lane] + ETHERNET_SIZE;

	lanes->size[at] = burst->size[lane] - ETHERNET_SIZE;
	lanes->first[at] = load_le32(ip);
	lanes->second[at] = load_le32(ip + 6);
	lanes->ports[at] = load_le32(ip + 20);
	lanes->ends[0][at] = load_le64(ip + 12);
}

INLINE void load_v6(struct lanes *lanes, const struct burst *burst, uint32_t at, uint32_t lane)
{
	static const uint8_t too_short[V6_SMALLEST];
	const uint8_t *ip =
		(burst->size[lane] < V6_SMALLEST ? too_short : burst->frame[lane]) + ETHERNET_SIZE;

	lanes->size[at] = burst->size[lane] - ETHERNET_SIZE;
	lanes->first[at] = load_le32(ip);
	lanes->second[at] = load_le32(ip + 4);
	lanes->ports[at] = load_le32(ip + 40);
	for (unsigned i = 0; i < 4; i++)
		lanes->ends[i][at] = load_le64(ip + 8 + 8 * i);
}

static const uint8_t all_lanes[BURST_MAX] = {
#define ROW(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
	ROW(0), ROW(8), ROW(16), ROW(24), ROW(32), ROW(40), ROW(48), ROW(56)
#undef ROW
};

/* Lanes that are not to be looked at: in pieces, too short, or without room before the frame. */
INLINE uint64_t find_unfit(const struct burst *burst)
{
	uint32_t any = 0;
	uint64_t unfit = 0;

	for (uint32_t lane = 0; lane < burst->count; lane++)
		any |= (burst->readable[lane] != burst->size[lane]) |
		       (burst->readable[lane] < V4_SMALLEST) |
		       (burst->headroom[lane] < BURST_HEADROOM);
	if (__builtin_expect(!any, 1))
		return 0;
	for (uint32_t lane = 0; lane < burst->count; lane++)
		unfit |= (uint64_t)(burst->readable[lane] != burst->size[lane] ||
				    burst->readable[lane] < V4_SMALLEST ||
				    burst->headroom[lane] < BURST_HEADROOM)
			 << lane;
	return unfit;
}

/* Sorts by Ethernet type, without a branch that depends on it. Returns the lanes of neither family.
 */
INLINE uint64_t list_families(
	const uint16_t types[BURST_MAX], uint32_t count, struct lanes *v4, struct lanes *v6)
{
	uint64_t rest = 0;

	v4->index = v4->list;
	v6->index = v6->list;
	v4->count = v6->count = 0;
	for (uint32_t lane = 0; lane < count; lane++) {
		bool is_v4 = types[lane] == TYPE_V4, is_v6 = types[lane] == TYPE_V6;

		v4->list[v4->count] = (uint8_t)lane;
		v4->count += is_v4;
		v6->list[v6->count] = (uint8_t)lane;
		v6->count += is_v6;
		rest |= (uint64_t) !(is_v4 | is_v6) << lane;
	}
	return rest;
}

/* Finds the lanes of each family; returns those of neither. */
INLINE uint64_t sort_families(const struct burst *burst, struct lanes *v4, struct lanes *v6)
{
	uint64_t unfit = find_unfit(burst);
	uint16_t types[BURST_MAX], differing = 0;

	types[0] = 0;
	for (uint32_t lane = 0; lane < burst->count; lane++) {
		if (__builtin_expect(unfit != 0, 0) && unfit >> lane & 1)
			types[lane] = 0;
		else
			types[lane] = load_le16(burst->frame[lane] + 12);
		differing |= types[lane] ^ types[0];
	}
	if (unfit || differing || (types[0] != TYPE_V4 && types[0] != TYPE_V6))
		return list_families(types, burst->count, v4, v6);
	v4->index = v6->index = all_lanes;
	v4->count = types[0] == TYPE_V4 ? burst->count : 0;
	v6->count = burst->count - v4->count;
	return 0;
}

INLINE void load_lanes(struct lanes *lanes, const struct burst *burst, bool v6)
{
	uint32_t at = 0;

	for (; at < lanes->count; at++) {
		if (v6)
			load_v6(lanes, burst, at, lanes->index[at]);
		else
			load_v4(lanes, burst, at, lanes->index[at]);
	}
	for (; at % BLOCK; at++) {
		lanes->size[at] = lanes->first[at] = lanes->second[at] = lanes->ports[at] = 0;
		for (unsigned i = 0; i < (v6 ? 4u : 1u); i++)
			lanes->ends[i][at] = 0;
	}
}

/* ---- parse ---- */

INLINE void check_v4(const struct lanes *lanes, uint32_t base, struct block *block)
{
	EACH (i) {
		uint32_t first = lanes->first[base + i], second = lanes->second[base + i];
		uint32_t total = swap16(first >> 16);
		uint32_t protocol = second >> 24;
		uint32_t udp = protocol == IPPROTO_UDP;
		uint32_t ok = (first & 0xff) == 0x45;

		ok &= (second & 0xff3f) == 0; /* MF and offset */
		ok &= udp | (protocol == IPPROTO_TCP);
		ok &= total >= 40 - 12 * udp;
		ok &= total <= lanes->size[base + i];
		block->total[i] = total;
		block->udp[i] = udp;
		block->ok[i] = ok;
	}
}

INLINE void check_v6(const struct lanes *lanes, uint32_t base, struct block *block)
{
	EACH (i) {
		uint32_t second = lanes->second[base + i];
		uint32_t payload = swap16(second);
		uint32_t protocol = second >> 16 & 0xff;
		uint32_t udp = protocol == IPPROTO_UDP;
		uint32_t ok = (lanes->first[base + i] & 0xf0) == 0x60;

		ok &= udp | (protocol == IPPROTO_TCP);
		ok &= payload >= 20 - 12 * udp;
		ok &= payload + 40 <= lanes->size[base + i];
		block->total[i] = payload + 40;
		block->udp[i] = udp;
		block->ok[i] = ok;
	}
}

#endif
