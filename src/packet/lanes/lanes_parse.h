/* SPDX-License-Identifier: BSD-3-Clause */
/* The fast path's first stages: frames to lanes, lanes to what is ordinary. Only for lanes.c. */
#ifndef GLB_PACKET_LANES_LANES_PARSE_H
#define GLB_PACKET_LANES_LANES_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "gue/prebuilt.h"
#include "packet/burst.h"
#include "packet/lanes/lanes_vector.h"

enum {
	/* This many bytes must be readable to load all fields that the stages read. */
	V4_SMALLEST = NET_ETHERNET_SIZE + NET_IPV4_SIZE + NET_UDP_SIZE,
	V6_SMALLEST = NET_ETHERNET_SIZE + NET_IPV6_SIZE + NET_UDP_SIZE,
	TYPE_V4 = __builtin_bswap16(NET_TYPE_IPV4), /* as loaded little-endian */
	TYPE_V6 = __builtin_bswap16(NET_TYPE_IPV6),
	MAX_WORDS = 5, /* of a hash's message: two IPv6 addresses and ports */
};

/* Packets of one family, gathered from the burst: as many as are loaded, then zeros up to the end
 * of a block. */
struct lanes {
	uint32_t count;
	const uint8_t *index; /* in the burst: all lanes, or those in the list */
	uint8_t list[BURST_MAX];
	const uint32_t *size; /* of the frames: the burst's, or those in the list */
	uint32_t list_size[BURST_MAX];
	uint32_t first[BURST_MAX]; /* IPv4: bytes 0..3. IPv6: the same */
	uint32_t second[BURST_MAX]; /* IPv4: bytes 6..9. IPv6: bytes 4..7 */
	uint32_t ports[BURST_MAX]; /* source, destination */
	uint64_t ends[4][BURST_MAX]; /* IPv4: source and destination in [0]. IPv6: two each */
};

/* A block's results, stage by stage. */
struct block {
	uint32_t total[BLOCK]; /* bytes of the IP packet */
	uint32_t ok[BLOCK]; /* ordinary so far */
	uint32_t unmatched[BLOCK]; /* ordinary, but for no table: dropped */
	uint32_t udp[BLOCK];
	uint32_t map[BLOCK];
	uint32_t table[BLOCK];
	uint64_t hash[BLOCK], alt_hash[BLOCK];
	uint32_t hops[PREBUILT_MAX_HOPS][BLOCK];
	uint32_t patches[BLOCK][4]; /* total length, checksum; first hop; source port, UDP length;
				       second hop */
	uint32_t hop_count[BLOCK];
} __attribute__((aligned(64)));

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
		any |= (burst->readable[lane] != burst->size[lane]) | (burst->readable[lane] < V4_SMALLEST) |
		       (burst->headroom[lane] < BURST_HEADROOM);
	if (__builtin_expect(!any, 1))
		return 0;
	for (uint32_t lane = 0; lane < burst->count; lane++)
		unfit |= (uint64_t)(burst->readable[lane] != burst->size[lane] || burst->readable[lane] < V4_SMALLEST ||
				    burst->headroom[lane] < BURST_HEADROOM)
			 << lane;
	return unfit;
}

INLINE uint16_t ethernet_type(const struct burst *burst, uint32_t lane)
{
	return load_le16(burst->frame[lane] + 12);
}

/* Sorts by Ethernet type, without a branch that depends on it. Returns the lanes of neither family,
 * with those of IPv6 that are too short to be loaded. */
INLINE uint64_t list_families(const struct burst *burst, uint64_t unfit, struct lanes *v4, struct lanes *v6)
{
	uint64_t rest = 0;

	v4->index = v4->list;
	v6->index = v6->list;
	v4->count = v6->count = 0;
	for (uint32_t lane = 0; lane < burst->count; lane++) {
		uint16_t type = unfit >> lane & 1 ? 0 : ethernet_type(burst, lane);
		bool is_v4 = type == TYPE_V4;
		bool is_v6 = (type == TYPE_V6) & (burst->size[lane] >= V6_SMALLEST);

		v4->list[v4->count] = (uint8_t)lane;
		v4->count += is_v4;
		v6->list[v6->count] = (uint8_t)lane;
		v6->count += is_v6;
		rest |= (uint64_t) !(is_v4 | is_v6) << lane;
	}
	return rest;
}

INLINE bool any_too_short_for_v6(const struct burst *burst)
{
	uint32_t below = 0; /* its sign: sizes are far from 2^31 */

	for (uint32_t lane = 0; lane < burst->count; lane++)
		below |= burst->size[lane] - V6_SMALLEST;
	return below >> 31;
}

/* Finds the lanes of each family; returns those of neither. */
INLINE uint64_t sort_families(const struct burst *burst, struct lanes *v4, struct lanes *v6)
{
	uint64_t unfit = find_unfit(burst);
	uint16_t type = 0, differing = 0;

	if (!unfit && burst->count) {
		type = ethernet_type(burst, 0);
		for (uint32_t lane = 1; lane < burst->count; lane++)
			differing |= ethernet_type(burst, lane) ^ type;
	}
	if (differing || !(type == TYPE_V4 || (type == TYPE_V6 && !any_too_short_for_v6(burst))))
		return list_families(burst, unfit, v4, v6);
	v4->index = v6->index = all_lanes;
	v4->count = type == TYPE_V4 ? burst->count : 0;
	v6->count = burst->count - v4->count;
	return 0;
}

/* The frames and sizes of lanes that are not all, or do not fill their last block. */
INLINE void pick_lanes(struct lanes *lanes, const struct burst *burst, const uint8_t *frames[BURST_MAX])
{
	static const uint8_t zeros[V6_SMALLEST];
	uint32_t at = 0;

	for (; at < lanes->count; at++) {
		frames[at] = burst->frame[lanes->index[at]];
		lanes->list_size[at] = burst->size[lanes->index[at]];
	}
	for (; at % BLOCK; at++) {
		frames[at] = zeros;
		lanes->list_size[at] = 0;
	}
	lanes->size = lanes->list_size;
}

INLINE void load_lanes(struct lanes *lanes, const struct burst *burst, bool v6)
{
	const uint8_t *picked[BURST_MAX], *const *frames = (const uint8_t *const *)burst->frame;
	uint32_t count = lanes->count;

	lanes->size = burst->size;
	if (lanes->index != all_lanes || count % BLOCK) {
		pick_lanes(lanes, burst, picked);
		frames = picked;
		count += -count % BLOCK;
	}
	for (uint32_t at = 0; at < count; at++) {
		const uint8_t *ip = frames[at] + NET_ETHERNET_SIZE;

		lanes->first[at] = load_le32(ip);
		lanes->second[at] = load_le32(ip + (v6 ? 4 : 6));
		lanes->ports[at] = load_le32(ip + (v6 ? NET_IPV6_SIZE : NET_IPV4_SIZE));
		for (unsigned i = 0; i < (v6 ? 4u : 1u); i++)
			lanes->ends[i][at] = load_le64(ip + (v6 ? 8 + 8 * i : 12));
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
		ok &= total >= NET_IPV4_SIZE + NET_TCP_SIZE - (NET_TCP_SIZE - NET_UDP_SIZE) * udp;
		ok &= total + NET_ETHERNET_SIZE <= lanes->size[base + i];
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
		ok &= payload >= NET_TCP_SIZE - (NET_TCP_SIZE - NET_UDP_SIZE) * udp;
		ok &= payload + NET_IPV6_SIZE + NET_ETHERNET_SIZE <= lanes->size[base + i];
		block->total[i] = payload + NET_IPV6_SIZE;
		block->udp[i] = udp;
		block->ok[i] = ok;
	}
}

#endif
