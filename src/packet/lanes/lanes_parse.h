/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first stages of the fast path: load the headers, and find the eligible packets.
 * Only lanes.c and bench/fused.c include this file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "common/netaddr.h"
#include "gue/prebuilt.h"
#include "packet/admission.h"
#include "packet/burst.h"
#include "packet/lanes/lanes.h"
#include "packet/lanes/lanes_vector.h"
#include "packet/routes.h"

enum {
	/* Bytes of the shortest eligible frames: UDP without data. The fast path loads no byte after these. */
	V4_SMALLEST = NET_ETHERNET_SIZE + NET_IPV4_SIZE + NET_UDP_SIZE,
	V6_SMALLEST = NET_ETHERNET_SIZE + NET_IPV6_SIZE + NET_UDP_SIZE,
	TYPE_V4 = __builtin_bswap16(NET_TYPE_IPV4), /* Ethernet types as they are loaded, little-endian */
	TYPE_V6 = __builtin_bswap16(NET_TYPE_IPV6),
	MAX_WORDS = 5, /* 64-bit words of the longest hash message: two IPv6 addresses and two ports */
};

/*
 * The packets of one family in a burst. The arrays have `count` entries, and then zeros up to the end of the last
 * block. Header bytes are loaded little-endian; offsets are from the start of the IP header.
 */
struct lanes {
	uint32_t count;
	const uint8_t *index; /* lanes of the burst: all_lanes or `list` */
	uint8_t list[BURST_MAX];
	const uint8_t *const *frame; /* in the burst or in list_frame */
	const uint32_t *size; /* bytes of each frame: in the burst or in list_size */
	const uint8_t *list_frame[BURST_MAX];
	uint32_t list_size[BURST_MAX];
	/* Aligned from here on, so that no vector crosses a cache line. */
	uint32_t first[BURST_MAX] __attribute__((aligned(64))); /* bytes 0 to 3 */
	uint32_t second[BURST_MAX]; /* IPv4: bytes 6 to 9. IPv6: bytes 4 to 7 */
	uint32_t ports[BURST_MAX]; /* source port in the low half, destination port in the high half */
	/*
	 * IPv4: [0] has the source in its low half and the destination in its high half. IPv6: [0] and [1] have the
	 * source, [2] and [3] the destination.
	 */
	uint64_t addresses[4][BURST_MAX];
	/* Bit n: entry n is an odd packet, which job->parse() has to parse. Its header bytes above mean nothing. */
	uint64_t odd;
};

/* The results of the stages for BLOCK packets. */
struct block {
	uint32_t total[BLOCK]; /* bytes of the IP packet; from prepare_patches() on with the outer headers */
	uint32_t eligible[BLOCK]; /* 1: fast-path eligible, as far as the stages have checked */
	uint32_t refused[BLOCK]; /* the verdict of an eligible packet that no bind matches or that is martian, else 0 */
	uint32_t without_next_hop[BLOCK]; /* 1: eligible, but no next hop is known. Only with several next hops */
	uint32_t udp[BLOCK]; /* 1: UDP, 0: TCP */
	uint32_t quic[BLOCK]; /* 1: eligible, to a bind with `quic`. Only if routes->quic is set, as the next */
	uint32_t server[BLOCK]; /* as in struct burst */
	uint32_t map[BLOCK]; /* port map of the destination */
	uint32_t table[BLOCK];
	uint64_t hash[BLOCK], alt_hash[BLOCK];
	uint32_t pair[BLOCK]; /* of hops. Only with routes->pairs_scalar */
	uint32_t backend[BLOCK]; /* first hop: index in routes->addresses */
	uint32_t hops[2][BLOCK]; /* as in struct steer_result */
	/* The hops after those, in pairs: the third hop in the low half of [0], the fourth in its high half,
	 * and so on. */
	uint64_t later[(PREBUILT_MAX_HOPS - 2) / 2][BLOCK];
	uint32_t next_hop[BLOCK]; /* index in next_hops->macs. Only with several next hops */
	/* Values for the prebuilt headers. patches[] has four for each packet: these two before the first and the
	 * second hop. */
#if WIDE == 1
	uint32_t ip_patch[BLOCK]; /* total length and checksum */
	uint32_t udp_patch[BLOCK]; /* source port and UDP length */
#else
	uint32_t patches[BLOCK][4];
#endif
	uint32_t hop_count[BLOCK];
	uint32_t outer_ipv6[BLOCK]; /* 1: the outer header is IPv6. Only if routes->ipv6 is set */
} __attribute__((aligned(64)));

static const uint8_t all_lanes[BURST_MAX] = {
#define ROW(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
	ROW(0), ROW(8), ROW(16), ROW(24), ROW(32), ROW(40), ROW(48), ROW(56)
#undef ROW
};

/* Returns the lanes that the fast path cannot load or write: not contiguous, too short, or without headroom. */
INLINE uint64_t find_ineligible(const struct burst *burst, uint32_t headroom)
{
	uint32_t differing = 0,
		 below = 0; /* the sign bit of `below` is set if a number is too small; they are far from 2^31 */
	uint64_t ineligible = 0;

	for (uint32_t lane = 0; lane < burst->count; lane++) {
		differing |= burst->readable[lane] ^ burst->size[lane];
		below |= (burst->readable[lane] - V4_SMALLEST) | (burst->headroom[lane] - headroom);
	}
	if (__builtin_expect(!(differing | below >> 31), 1))
		return 0;
	for (uint32_t lane = 0; lane < burst->count; lane++)
		ineligible |= (uint64_t)(burst->readable[lane] != burst->size[lane] ||
					 burst->readable[lane] < V4_SMALLEST || burst->headroom[lane] < headroom)
			      << lane;
	return ineligible;
}

INLINE bool is_admitted(const struct lanes_job *job, uint64_t mac)
{
	return !admission_mac_is_group(mac) && admission_accepts_mac(&job->steering->admission, job->port_mac, mac);
}

/*
 * Checks the destination MACs of all lanes except those in `ineligible`. Finishes the lanes that are for another host,
 * because no later check can change that, and returns them. Adds those of multicast and broadcast frames to
 * *ineligible.
 */
INLINE uint64_t refuse_macs(const struct lanes_job *job, struct burst *burst, uint64_t *ineligible)
{
	uint64_t finished = 0;

	for (uint32_t lane = 0; lane < burst->count; lane++) {
		uint64_t mac = *ineligible >> lane & 1 ? job->port_mac : admission_mac(burst->frame[lane]);

		if (is_admitted(job, mac))
			continue;
		if (admission_mac_is_group(mac)) {
			*ineligible |= 1ull << lane;
		} else {
			burst->verdict[lane] = VERDICT_DROP_NOT_FOR_US;
			burst->out[lane] = NULL;
			finished |= 1ull << lane;
		}
	}
	return finished;
}

INLINE uint16_t ethernet_type(const struct burst *burst, uint32_t lane)
{
	return load_le16(burst->frame[lane] + 12);
}

/*
 * Lists the lanes of each family, without a branch that depends on the Ethernet type. Returns the lanes of neither
 * family, and those whose IPv6 packet is too short to load.
 */
INLINE uint64_t list_families(const struct burst *burst, uint64_t ineligible, struct lanes *v4, struct lanes *v6)
{
	uint64_t rest = 0;

	v4->index = v4->list;
	v6->index = v6->list;
	v4->count = v6->count = 0;
	for (uint32_t lane = 0; lane < burst->count; lane++) {
		uint16_t type = ineligible >> lane & 1 ? 0 : ethernet_type(burst, lane);
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
	uint32_t below = 0; /* its sign bit is set if a size is below; sizes are far from 2^31 */

	for (uint32_t lane = 0; lane < burst->count; lane++)
		below |= burst->size[lane] - V6_SMALLEST;
	return below >> 31;
}

INLINE uint64_t lanes_of_other_types(const struct burst *burst, uint16_t type)
{
	uint64_t others = 0;

	for (uint32_t lane = burst->count; lane-- > 0;)
		others = 2 * others + (ethernet_type(burst, lane) != type);
	return others;
}

/*
 * Returns the lanes of neither family if they are at most half of the burst and all others have one family, whose
 * Ethernet type it writes to *type. Otherwise 0. No lane is ineligible.
 */
static __attribute__((noinline)) uint64_t find_few_others(const struct burst *burst, uint16_t *type)
{
	uint64_t others = lanes_of_other_types(burst, *type);

	if ((uint32_t)__builtin_popcountll(others) > burst->count / 2) {
		*type = ethernet_type(burst, (uint32_t)__builtin_ctzll(others));
		others = lanes_of_other_types(burst, *type);
	}
	if ((uint32_t)__builtin_popcountll(others) > burst->count / 2)
		return 0;
	if (*type != TYPE_V4 && (*type != TYPE_V6 || any_too_short_for_v6(burst)))
		return 0;
	BURST_EACH (lane, others) {
		uint16_t other = ethernet_type(burst, (uint32_t)lane);

		if (other == TYPE_V4 || other == TYPE_V6)
			return 0;
	}
	return others;
}

/* The destination MAC in the low 6 bytes of [0], the Ethernet type in bytes 4 and 5 of [1]. */
typedef uint64_t ethernet_header __attribute__((vector_size(16)));

INLINE ethernet_header load_ethernet(const uint8_t *frame)
{
	ethernet_header header;

	memcpy(&header, frame, sizeof(header));
	return header;
}

/*
 * Finds the lanes of each family, and returns the others, except those that refuse_macs() has finished. Nearly always
 * all frames of a burst have the same destination MAC, so that one look at it is enough. A burst of one family needs no
 * list, not even if a few frames have another type, for example that of a VLAN tag.
 */
INLINE uint64_t sort_families(const struct lanes_job *job, struct burst *burst, struct lanes *v4, struct lanes *v6)
{
	bool check_macs = job->steering->admission.accept != ADMISSION_EVERY_FRAME;
	uint32_t headroom = routes_headroom(job->routes, job->steering->alt_hash_fields);
	uint64_t ineligible = find_ineligible(burst, headroom), finished = 0, odd = 0;
	ethernet_header differing = {0, UINT64_MAX}, first = {0};
	uint16_t type;

	if (!ineligible && burst->count) {
		first = load_ethernet(burst->frame[0]);
		differing = (ethernet_header){0};
		for (uint32_t lane = 1; lane < burst->count; lane++)
			differing |= load_ethernet(burst->frame[lane]) ^ first;
	}
	type = (uint16_t)(first[1] >> 32);
	if (check_macs &&
		(ineligible || differing[0] & ADMISSION_MAC_MASK || !is_admitted(job, first[0] & ADMISSION_MAC_MASK)))
		finished = refuse_macs(job, burst, &ineligible);
	if (!(ineligible | finished) && (uint16_t)(differing[1] >> 32) && job->parse)
		odd = find_few_others(burst, &type);
	v4->odd = v6->odd = odd;
	if (!odd && (ineligible || finished || (uint16_t)(differing[1] >> 32) ||
			    !(type == TYPE_V4 || (type == TYPE_V6 && !any_too_short_for_v6(burst))))) {
		/* All frames have the same other type. (gcc 12 makes slower code if the repeated conditions have
		 * names.) */
		if (!(ineligible | finished | (uint16_t)(differing[1] >> 32)) && type != TYPE_V6) {
			v4->count = v6->count = 0;
			return burst_lanes(burst);
		}
		return list_families(burst, ineligible | finished, v4, v6) & ~finished;
	}
	v4->index = v6->index = all_lanes;
	v4->count = type == TYPE_V4 ? burst->count : 0;
	v6->count = burst->count - v4->count;
	return 0;
}

/* Fills frames and sizes from the list, and completes the last block with frames of zeros. */
INLINE void pick_lanes(struct lanes *lanes, const struct burst *burst)
{
	static const uint8_t zeros[V6_SMALLEST];
	uint32_t at = 0;

	for (; at < lanes->count; at++) {
		lanes->list_frame[at] = burst->frame[lanes->index[at]];
		lanes->list_size[at] = burst->size[lanes->index[at]];
	}
	for (; at % BLOCK; at++) {
		lanes->list_frame[at] = zeros;
		lanes->list_size[at] = 0;
	}
	lanes->frame = lanes->list_frame;
	lanes->size = lanes->list_size;
}

#if WIDE > 1
/* Loads the bytes 10 to 41 of each frame, so that the addresses are one word. */
INLINE void load_block_v4(struct lanes *lanes, const uint8_t *const frames[BLOCK], uint32_t base)
{
	uint64_t words[4][BLOCK];

	_Static_assert(10 + sizeof(words) / BLOCK <= V4_SMALLEST, "all frames have these bytes");
	load_four_words(frames, 10, words);
	EACH (i) {
		lanes->first[base + i] = (uint32_t)(words[0][i] >> 32);
		lanes->second[base + i] = (uint32_t)(words[1][i] >> 16);
		lanes->addresses[0][base + i] = words[2][i];
		lanes->ports[base + i] = (uint32_t)words[3][i];
	}
}

/* Loads the bytes 14 to 61 of each frame. */
INLINE void load_block_v6(struct lanes *lanes, const uint8_t *const frames[BLOCK], uint32_t base)
{
	uint64_t words[6][BLOCK];

	_Static_assert(14 + sizeof(words) / BLOCK <= V6_SMALLEST, "all frames have these bytes");
	load_four_words(frames, 14, words);
	load_two_words(frames, 46, words + 4);
	EACH (i) {
		lanes->first[base + i] = (uint32_t)words[0][i];
		lanes->second[base + i] = (uint32_t)(words[0][i] >> 32);
		lanes->addresses[0][base + i] = words[1][i];
		lanes->addresses[1][base + i] = words[2][i];
		lanes->addresses[2][base + i] = words[3][i];
		lanes->addresses[3][base + i] = words[4][i];
		lanes->ports[base + i] = (uint32_t)words[5][i];
	}
}
#else
INLINE void load_block_v4(struct lanes *lanes, const uint8_t *const frames[BLOCK], uint32_t base)
{
	for (uint32_t i = 0; i < BLOCK; i++) {
		const uint8_t *ip = frames[i] + NET_ETHERNET_SIZE;

		lanes->first[base + i] = load_le32(ip);
		lanes->second[base + i] = load_le32(ip + 6);
		lanes->ports[base + i] = load_le32(ip + NET_IPV4_SIZE);
		lanes->addresses[0][base + i] = load_le64(ip + 12);
	}
}

INLINE void load_block_v6(struct lanes *lanes, const uint8_t *const frames[BLOCK], uint32_t base)
{
	for (uint32_t i = 0; i < BLOCK; i++) {
		const uint8_t *ip = frames[i] + NET_ETHERNET_SIZE;

		lanes->first[base + i] = load_le32(ip);
		lanes->second[base + i] = load_le32(ip + 4);
		lanes->ports[base + i] = load_le32(ip + NET_IPV6_SIZE);
		for (unsigned w = 0; w < 4; w++)
			lanes->addresses[w][base + i] = load_le64(ip + 8 + 8 * w);
	}
}
#endif

INLINE void load_lanes(struct lanes *lanes, const struct burst *burst, bool v6)
{
	uint32_t count = lanes->count;

	lanes->frame = (const uint8_t *const *)burst->frame;
	lanes->size = burst->size;
	if (lanes->index != all_lanes || count % BLOCK) {
		pick_lanes(lanes, burst);
		count += -count % BLOCK;
	}
	for (uint32_t at = 0; at < count; at += BLOCK)
		if (v6)
			load_block_v6(lanes, lanes->frame + at, at);
		else
			load_block_v4(lanes, lanes->frame + at, at);
}

INLINE void load_flow(const struct flow *flow, bool v6, struct lanes *lanes, uint32_t at)
{
	lanes->ports[at] = swap16(flow->source_port) | swap16(flow->destination_port) << 16;
	if (v6) {
		lanes->addresses[0][at] = load_le64(flow->source);
		lanes->addresses[1][at] = load_le64(flow->source + 8);
		lanes->addresses[2][at] = load_le64(flow->destination);
		lanes->addresses[3][at] = load_le64(flow->destination + 8);
	} else {
		lanes->addresses[0][at] = load_le32(flow->source) | (uint64_t)load_le32(flow->destination) << 32;
	}
}

/* A later fragment has no row by ports. */
INLINE bool has_alternative_row(const struct lanes_job *job, const struct flow *flow)
{
	return flow->kind != FLOW_FRAGMENT || !(job->steering->alt_hash_fields & STEERING_PORTS);
}

/* Loads the packets of a family that the general path has parsed, and their tables. */
INLINE void load_parsed(const struct lanes_job *job, const struct burst *burst, bool v6, struct lanes *lanes,
	struct block blocks[BURST_MAX / BLOCK])
{
	static const struct flow none;
	uint32_t headroom = routes_headroom(job->routes, job->steering->alt_hash_fields), at = 0;

	lanes->index = lanes->list;
	lanes->odd = 0;
	BURST_EACH (lane, job->parsed) {
		const struct flow *flow = &burst->flow[lane];
		struct block *block = &blocks[at / BLOCK];

		if ((flow->family == NETADDR_V6) != v6)
			continue;
		lanes->list[at] = (uint8_t)lane;
		load_flow(flow, v6, lanes, at);
		block->total[at % BLOCK] = flow->ip_size;
		block->table[at % BLOCK] = burst->table[lane];
		block->server[at % BLOCK] = burst->server[lane];
		block->refused[at % BLOCK] = 0;
		block->eligible[at % BLOCK] = (burst->headroom[lane] >= headroom) & has_alternative_row(job, flow);
		at++;
	}
	lanes->count = at;
	for (; at % BLOCK; at++) {
		load_flow(&none, v6, lanes, at);
		blocks[at / BLOCK].total[at % BLOCK] = blocks[at / BLOCK].table[at % BLOCK] = 0;
		blocks[at / BLOCK].refused[at % BLOCK] = blocks[at / BLOCK].eligible[at % BLOCK] = 0;
		blocks[at / BLOCK].server[at % BLOCK] = QUIC_NO_SERVER;
	}
}

/* Replaces the ports, which are hashed by now, by what goes into the outer source ports. */
INLINE void load_hints(struct lanes *lanes, const struct burst *burst)
{
	for (uint32_t at = 0; at < lanes->count; at++)
		lanes->ports[at] = swap16(burst->flow[lanes->index[at]].hint);
}

INLINE void check_v4(const struct lanes *lanes, uint32_t base, struct block *block)
{
	EACH (i) {
		uint32_t first = lanes->first[base + i], second = lanes->second[base + i];
		uint32_t total = swap16(first >> 16);
		uint32_t protocol = second >> 24;
		uint32_t udp = protocol == IPPROTO_UDP;
		uint32_t eligible = (first & 0xff) == 0x45;

		eligible &= (second & 0xff3f) == 0; /* MF and offset */
		eligible &= udp | (protocol == IPPROTO_TCP);
		eligible &= total >= NET_IPV4_SIZE + NET_TCP_SIZE - (NET_TCP_SIZE - NET_UDP_SIZE) * udp;
		eligible &= total + NET_ETHERNET_SIZE <= lanes->size[base + i];
		block->total[i] = total;
		block->udp[i] = udp;
		block->refused[i] = 0;
		block->eligible[i] = eligible;
	}
}

INLINE void check_v6(const struct lanes *lanes, uint32_t base, struct block *block)
{
	EACH (i) {
		uint32_t second = lanes->second[base + i];
		uint32_t payload = swap16(second);
		uint32_t protocol = second >> 16 & 0xff;
		uint32_t udp = protocol == IPPROTO_UDP;
		uint32_t eligible = (lanes->first[base + i] & 0xf0) == 0x60;

		eligible &= udp | (protocol == IPPROTO_TCP);
		eligible &= payload >= NET_TCP_SIZE - (NET_TCP_SIZE - NET_UDP_SIZE) * udp;
		eligible &= payload + NET_IPV6_SIZE + NET_ETHERNET_SIZE <= lanes->size[base + i];
		block->total[i] = payload + NET_IPV6_SIZE;
		block->udp[i] = udp;
		block->refused[i] = 0;
		block->eligible[i] = eligible;
	}
}

/* Finds the packets from martian sources among the eligible ones. */
INLINE void find_martians(const struct lanes *lanes, uint32_t base, bool v6, struct block *block)
{
	EACH (i) {
		uint64_t first = lanes->addresses[0][base + i];
		bool martian = v6 ? admission_is_martian_v6(first, lanes->addresses[1][base + i],
					    lanes->addresses[2][base + i], lanes->addresses[3][base + i])
				  : admission_is_martian_v4((uint32_t)first, (uint32_t)(first >> 32));

		block->refused[i] = martian & block->eligible[i] ? VERDICT_DROP_MARTIAN : 0;
		block->eligible[i] &= !martian;
	}
}

/* Their bytes may look like those of an eligible packet. */
INLINE void exclude_odd(uint64_t odd, struct block blocks[BURST_MAX / BLOCK])
{
	BURST_EACH (at, odd)
		blocks[at / BLOCK].eligible[at % BLOCK] = blocks[at / BLOCK].refused[at % BLOCK] = 0;
}

/* Returns the entries that are neither eligible nor refused. count: not 0. */
INLINE uint64_t find_odd(uint32_t count, const struct block blocks[BURST_MAX / BLOCK])
{
	uint64_t odd = 0;

	for (uint32_t base = 0; base < count; base += BLOCK) {
		const struct block *block = &blocks[base / BLOCK];
		uint32_t bits = 0;

		EACH (i)
			bits |= (uint32_t) !(block->eligible[i] | block->refused[i]) << i;
		odd |= (uint64_t)bits << base;
	}
	return odd & UINT64_MAX >> (64 - count);
}
