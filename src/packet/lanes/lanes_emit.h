/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last stages of the fast path: compute lengths and checksums, write headers.
 * Only lanes.c and bench/fused.c include this file.
 */
#pragma once

#include "gue/gue_wire.h"
#include "packet/lanes/lanes.h"
#include "packet/lanes/lanes_parse.h"
#include "packet/next_hops.h"
#include "packet/routes.h"
#include "packet/steer.h"

/* Finds the next hops of a block. Packets without one are not eligible. hash: the low halves of the hashes. */
INLINE void find_next_hops(const struct lanes_job *job, const struct lanes *lanes, uint32_t base,
	const uint32_t hash[BLOCK], struct block *block)
{
	uint32_t slot[BLOCK];

	gather_u32(job->next_hops->slots, block->backend, slot);
	EACH (i) {
		/* The low byte of the outer source port. ports[] has the inner one, not swapped. */
		uint32_t port = hash[i] ^ lanes->ports[base + i] >> 8;

		block->next_hop[i] = (slot[i] & 0xffffff) + (slot[i] >> 24 & port);
		block->without_next_hop[i] = block->eligible[i] & (slot[i] == 0);
		block->eligible[i] &= slot[i] != 0;
	}
}

INLINE void store_patches(struct block *block, const uint32_t ip[BLOCK], const uint32_t udp[BLOCK])
{
#if WIDE == 1
	memcpy(block->ip_patch, ip, sizeof(block->ip_patch));
	memcpy(block->udp_patch, udp, sizeof(block->udp_patch));
#else
	interleave(ip, block->hops[0], udp, block->hops[1], block->patches);
#endif
}

enum outer_families { OUTER_IPV4, OUTER_IPV6, OUTER_BOTH };

INLINE void compute_patches(const struct lanes_job *job, const struct lanes *lanes, uint32_t base,
	enum outer_families outer, struct block *block)
{
	uint32_t constant_sum = job->prebuilt[0].sum, mtu = job->steering->outbound_mtu;
	uint32_t ip[BLOCK], udp[BLOCK], hash[BLOCK];

	EACH (i)
		hash[i] = (uint32_t)block->hash[i];
	if (!job->next_hops->single)
		find_next_hops(job, lanes, base, hash, block);
	EACH (i) {
		uint32_t six = outer == OUTER_BOTH ? block->outer_ipv6[i] : outer == OUTER_IPV6;
		uint32_t ip_size = GUE_IPV4_SIZE + six * (GUE_IPV6_SIZE - GUE_IPV4_SIZE);
		uint32_t total = block->total[i] + ip_size + GUE_UDP_SIZE + GUE_BASE_SIZE +
				 ((block->hop_count[i] - 1u) << (2 + 2 * six));
		uint32_t sum = constant_sum + swap16(total) + (block->hops[0][i] & 0xffff) + (block->hops[0][i] >> 16);
		uint32_t hint = lanes->ports[base + i] & 0xffff; /* the source port, not swapped */
		uint32_t port = (swap16(hash[i]) ^ hint) | 0x80;

		sum = (sum & 0xffff) + (sum >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		block->eligible[i] &= total <= mtu;
		ip[i] = outer == OUTER_IPV6 ? 0 : swap16(total) | (~sum & 0xffff) << 16;
		udp[i] = port | swap16(total - ip_size) << 16;
		block->total[i] = total;
	}
	store_patches(block, ip, udp);
}

/* Computes the patches of a block, in the byte order of the wire. Packets over the MTU are not eligible. */
INLINE void prepare_patches(const struct lanes_job *job, const struct lanes *lanes, uint32_t base, struct block *block)
{
	if (!job->routes->ipv6) {
		compute_patches(job, lanes, base, OUTER_IPV4, block);
	} else if (job->routes->ipv6_only) {
		EACH (i)
			block->outer_ipv6[i] = 1;
		compute_patches(job, lanes, base, OUTER_IPV6, block);
	} else {
		gather_u32(job->routes->outer_ipv6, block->table, block->outer_ipv6);
		compute_patches(job, lanes, base, OUTER_BOTH, block);
	}
}

/*
 * Copies the prebuilt headers and writes the patches into them, up to the second hop. mac: the destination MAC, if it
 * is 0 in the headers; else NULL.
 */
INLINE void write_outer(uint8_t *out, const struct prebuilt_headers *headers, const uint32_t patch[4],
	const uint64_t *mac, unsigned hops)
{
#if defined(__AVX512F__)
	/* The index of the patch byte that goes to each header byte. `patched` masks the header bytes that get one. */
	static const uint8_t from[PREBUILT_SIZE] __attribute__((aligned(64))) = {[16] = 0,
		[17] = 1,
		[24] = 2,
		[25] = 3,
		[30] = 4,
		[31] = 5,
		[32] = 6,
		[33] = 7,
		[34] = 8,
		[35] = 9,
		[38] = 10,
		[39] = 11,
		[50] = 12,
		[51] = 13,
		[52] = 14,
		[53] = 15};
	const uint64_t patched = 3ull << 16 | 3ull << 24 | 0x3full << 30 | 3ull << 38 | 0xfull << 50;
	__m512i four = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)patch));
	__m512i bytes =
		_mm512_mask_shuffle_epi8(_mm512_loadu_si512(headers->bytes), patched, four, _mm512_load_si512(from));

	if (mac)
		bytes = _mm512_or_si512(bytes, _mm512_zextsi128_si512(_mm_loadl_epi64((const __m128i *)mac)));
	_mm512_mask_storeu_epi8(out, (1ull << encapsulate_size(false, hops > 1 ? 2 : 1)) - 1, bytes);
#elif defined(__AVX2__)
	static const uint8_t from[2][32] __attribute__((aligned(32))) = {
#define NONE8 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80
		{NONE8, NONE8, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 3, 0x80, 0x80, 0x80, 0x80, 4, 5},
		{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 3, 0x80, 0x80, 0x80, 0x80, 4, 5, 6, 7, 8, 9, 0x80, 0x80, 10, 11,
			NONE8, 0x80, 0x80},
#undef NONE8
	};
	__m256i two = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)patch));

	__m256i first = _mm256_or_si256(_mm256_loadu_si256((const __m256i *)headers->bytes),
		_mm256_shuffle_epi8(two, _mm256_load_si256((const __m256i *)from[0])));

	if (mac)
		first = _mm256_or_si256(first, _mm256_zextsi128_si256(_mm_loadl_epi64((const __m128i *)mac)));
	_mm256_storeu_si256((__m256i *)out, first);
	_mm256_storeu_si256(
		(__m256i *)(out + 18), _mm256_or_si256(_mm256_loadu_si256((const __m256i *)(headers->bytes + 18)),
					       _mm256_shuffle_epi8(two, _mm256_load_si256((const __m256i *)from[1]))));
	if (hops > 1)
		memcpy(out + PREBUILT_HOPS, &patch[3], 4);
#else
	/* The compiler keeps the prebuilt headers in vector registers, and stores the patches over them. */
	memcpy(out, headers->bytes, 48);
	if (mac)
		store_le64(out, load_le64(headers->bytes) | *mac);
	if (hops > 1)
		memcpy(out + 38, headers->bytes + 38, 16);
	else
		memcpy(out + 48, headers->bytes + 48, 2);
	store_le16(out + PREBUILT_TOTAL_LENGTH, (uint16_t)patch[0]);
	store_le16(out + PREBUILT_CHECKSUM, (uint16_t)(patch[0] >> 16));
	memcpy(out + PREBUILT_DESTINATION, &patch[1], 4);
	store_le16(out + PREBUILT_SOURCE_PORT, (uint16_t)patch[2]);
	store_le16(out + PREBUILT_UDP_LENGTH, (uint16_t)(patch[2] >> 16));
	if (hops > 1)
		memcpy(out + PREBUILT_HOPS, &patch[3], 4);
#endif
}

/* Writes the hops of packet `i` after the second. */
INLINE void write_later(uint8_t *out, const struct block *block, uint32_t i, unsigned count)
{
	for (unsigned hop = 0; hop < count / 2; hop++)
		memcpy(out + 8 * hop, &block->later[hop][i], 8);
	if (count % 2)
		memcpy(out + 4 * (count - 1), &block->later[count / 2][i], 4);
}

/*
 * The same for outer IPv6. No store crosses cache lines, if the outer headers for two hops start at the start of one
 * (those of 32 bytes neither, if in its middle).
 */
INLINE void write_outer_ipv6(uint8_t *out, const struct prebuilt_headers *headers, const uint32_t patch[4],
	const uint64_t *mac, const struct net_ipv6_address *ipv6, unsigned hops)
{
	const struct net_ipv6_address *first = &ipv6[patch[1]], *second = hops > 1 ? &ipv6[patch[3]] : NULL;

#if defined(__AVX2__)
	/* The patch byte for each header byte, from 0 and from 32 on; and the byte of the first hop from 32 on. */
#define NONE8 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80
	static const uint8_t from[3][32] __attribute__((aligned(32))) = {
		{NONE8, NONE8, 8, 9, 10, 11, 0x80, 0x80, 0x80, 0x80, NONE8},
		{NONE8, NONE8, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 8, 9, 0x80, 0x80, 10, 11, 0x80, 0x80, 0x80, 0x80},
		{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0x80, 0x80,
			NONE8},
	};
#undef NONE8
	__m256i two = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)patch));
	__m256i hop = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)first));
	__m256i start = _mm256_or_si256(_mm256_load_si256((const __m256i *)headers->bytes),
		_mm256_shuffle_epi8(two, _mm256_load_si256((const __m256i *)from[0])));
	__m256i rest = _mm256_or_si256(_mm256_load_si256((const __m256i *)(headers->bytes + 32)),
		_mm256_shuffle_epi8(two, _mm256_load_si256((const __m256i *)from[1])));

	rest = _mm256_or_si256(rest, _mm256_shuffle_epi8(hop, _mm256_load_si256((const __m256i *)from[2])));
	if (mac)
		start = _mm256_or_si256(start, _mm256_zextsi128_si256(_mm_loadl_epi64((const __m128i *)mac)));
	_mm256_storeu_si256((__m256i *)out, start);
	_mm256_storeu_si256((__m256i *)(out + 32), rest);
	if (second) {
		memcpy(out + 64, headers->bytes + 64, 8); /* the hop overwrites the last two */
		memcpy(out + PREBUILT_IPV6_HOPS, second, sizeof(*second));
	} else {
		memcpy(out + PREBUILT_IPV6_GUE, headers->bytes + PREBUILT_IPV6_GUE, 8);
	}
#else
	prebuilt_write_ipv6(out, headers, mac ? *mac : 0, patch[2], first, second);
#endif
}

/* macs: those of the next hops; NULL: the headers have the MAC of the only one. ipv6: NULL: outer IPv4. */
INLINE void write_lane(const struct prebuilt_headers *headers, const uint64_t *macs,
	const struct net_ipv6_address *ipv6, const struct block *block, uint32_t i, unsigned hops, uint8_t *out)
{
	const uint64_t *mac = macs ? &macs[block->next_hop[i]] : NULL;

#if WIDE == 1
	const uint32_t patch[4] = {block->ip_patch[i], block->hops[0][i], block->udp_patch[i], block->hops[1][i]};
#else
	const uint32_t *patch = block->patches[PATCH(i)];
#endif

	if (ipv6) {
		write_outer_ipv6(out, headers, patch, mac, ipv6, hops);
		for (unsigned hop = 2; hop < hops; hop++)
			memcpy(out + PREBUILT_IPV6_HOPS + 16 * (hop - 1),
				&ipv6[(uint32_t)(block->later[hop / 2 - 1][i] >> hop % 2 * 32)], 16);
		return;
	}
	write_outer(out, headers, patch, mac, hops);
	if (hops > 2)
		write_later(out + PREBUILT_HOPS + 4, block, i, hops - 2);
}

/* Writes a block of eligible packets that have the same outer family and number of hops, at least 2, and are neighbours
 * in the burst. */
INLINE void emit_full_block(const struct prebuilt_headers *headers, const uint64_t *macs,
	const struct net_ipv6_address *ipv6, const struct block *block, unsigned hops, struct burst *burst, uint32_t base)
{
#if defined(__AVX512F__)
	/* No store can change a copy, so it stays in registers. AVX2 has too few of them. */
	const struct prebuilt_headers copy = *headers;

	headers = &copy;
#endif
	EACH (i) {
		burst->verdict[base + i] = VERDICT_FORWARDED;
		burst->table[base + i] = (uint16_t)block->table[i];
		burst->backend[base + i] = block->backend[i];
		burst->out_size[base + i] = NET_ETHERNET_SIZE + block->total[i];
	}
	EACH (i) {
		uint8_t *out = burst->frame[base + i] + NET_ETHERNET_SIZE - encapsulate_size(ipv6, hops);

		write_lane(headers, macs, ipv6, block, i, hops, out);
		burst->out[base + i] = out;
	}
}

/* Writes the headers of a packet. offset: bytes of its frame before the IP header. */
INLINE void write_frame(const struct lanes_job *job, bool v6, uint32_t offset, const struct block *block, uint32_t i,
	struct burst *burst, uint32_t lane)
{
	uint32_t hops = block->hop_count[i];
	bool six = job->routes->ipv6 && block->outer_ipv6[i];
	uint8_t *out = burst->frame[lane] + offset - encapsulate_size(six, hops);

	write_lane(&job->prebuilt[PREBUILT_INDEX(six, v6, hops)], job->next_hops->single ? NULL : job->next_hops->macs,
		six ? job->routes->ipv6 : NULL, block, i, hops, out);
	burst->out[lane] = out;
}

INLINE void emit_lane(const struct lanes_job *job, bool v6, bool parsed, const struct block *block, uint32_t i,
	struct burst *burst, uint32_t lane)
{
	write_frame(job, v6, parsed ? burst->flow[lane].ip_offset : NET_ETHERNET_SIZE, block, i, burst, lane);
	burst->verdict[lane] = VERDICT_FORWARDED;
	burst->table[lane] = (uint16_t)block->table[i];
	burst->backend[lane] = block->backend[i];
	burst->out_size[lane] = NET_ETHERNET_SIZE + block->total[i];
}

/* Finishes a lane that is not forwarded, so that a flood of unmatched or martian packets stays on the fast path. */
INLINE void finish_refused(uint32_t verdict, struct burst *burst, uint32_t lane)
{
	burst->verdict[lane] = (uint8_t)verdict;
	burst->out[lane] = NULL;
}

INLINE void finish_without_next_hop(const struct block *block, uint32_t i, struct burst *burst, uint32_t lane)
{
	burst->verdict[lane] = VERDICT_DROP_NO_NEXT_HOP;
	burst->backend[lane] = block->backend[i];
	burst->out[lane] = NULL;
}

/* The same, with code of its own for two hops and for one next hop. */
INLINE void emit_neighbours(const struct lanes_job *job, bool v6, const struct block *block, unsigned hops,
	struct burst *burst, uint32_t base)
{
	const struct net_ipv6_address *ipv6 = job->routes->ipv6;
	bool six = ipv6 && block->outer_ipv6[0];
	const struct prebuilt_headers *headers = &job->prebuilt[PREBUILT_INDEX(six, v6, hops)];
	const uint64_t *macs = job->next_hops->single ? NULL : job->next_hops->macs;

	if (six && hops == 2 && !macs)
		emit_full_block(headers, NULL, ipv6, block, 2, burst, base);
	else if (six)
		emit_full_block(headers, macs, ipv6, block, hops, burst, base);
	else if (hops == 2 && !macs)
		emit_full_block(headers, NULL, NULL, block, 2, burst, base);
	else if (hops == 2)
		emit_full_block(headers, macs, NULL, block, 2, burst, base);
	else if (!macs)
		emit_full_block(headers, NULL, NULL, block, hops, burst, base);
	else
		emit_full_block(headers, macs, NULL, block, hops, burst, base);
}

/* Writes the results of a block. Returns the lanes of the burst for the general path. */
INLINE uint64_t emit(const struct lanes_job *job, const struct lanes *lanes, uint32_t base, bool v6, bool parsed,
	const struct block *block, struct burst *burst)
{
	const uint8_t *index = lanes->index + base;
	uint32_t end = lanes->count - base < BLOCK ? lanes->count - base : BLOCK, hops = block->hop_count[0],
		 all = hops > 1;
	uint64_t rest = 0;

	EACH (i)
		all &= block->eligible[i] & (block->hop_count[i] == hops);
	if (job->routes->ipv6 && !job->routes->ipv6_only)
		EACH (i)
			all &= block->outer_ipv6[i] == block->outer_ipv6[0];
	if (__builtin_expect(all && lanes->index == all_lanes, 1)) {
		emit_neighbours(job, v6, block, hops, burst, base);
		return 0;
	}
	for (uint32_t i = 0; i < end; i++) {
		if (block->eligible[i])
			emit_lane(job, v6, parsed, block, i, burst, index[i]);
		else if (block->refused[i])
			finish_refused(block->refused[i], burst, index[i]);
		else if (!job->next_hops->single && block->without_next_hop[i])
			finish_without_next_hop(block, i, burst, index[i]);
		else
			rest |= 1ull << index[i];
	}
	return rest;
}

/* Where emit() writes the headers of odd packets, and their frames. */
struct hidden {
	uint8_t nowhere[ENCAPSULATE_MAX_SIZE + NET_ETHERNET_SIZE];
	uint8_t *frames[BURST_MAX];
};

/*
 * Has emit() write the headers of odd packets to memory that nobody reads. So it can write whole blocks: a branch for
 * each packet would be mispredicted, because nobody knows which ones are odd. Call emit_odd() afterwards.
 */
INLINE void hide_odd(const struct lanes *lanes, struct burst *burst, struct hidden *hidden)
{
	BURST_EACH (at, lanes->odd) {
		hidden->frames[at] = burst->frame[lanes->index[at]];
		burst->frame[lanes->index[at]] = hidden->nowhere + ENCAPSULATE_MAX_SIZE;
	}
}

/* Writes the headers of the odd packets that are forwarded. emit() has filled everything else. */
INLINE void emit_odd(const struct lanes_job *job, const struct lanes *lanes, const struct hidden *hidden,
	const struct block blocks[BURST_MAX / BLOCK], struct burst *burst)
{
	BURST_EACH (at, lanes->odd) {
		uint32_t lane = lanes->index[at], i = at % BLOCK;
		const struct block *block = &blocks[at / BLOCK];
		const struct flow *flow = &burst->flow[lane];

		burst->frame[lane] = hidden->frames[at];
		if (block->eligible[i])
			write_frame(job, flow->family == NETADDR_V6, flow->ip_offset, block, i, burst, lane);
	}
}
