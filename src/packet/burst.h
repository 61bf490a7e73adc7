/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A burst of packets in the pipeline. Each packet has a lane: its index in every array below. A stage reads what
 * earlier stages wrote, for the lanes whose verdict is still VERDICT_FORWARDED. The fast path fills only mixed,
 * verdict, table, quic, backend, out and out_size. One thread owns the burst.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gue/encapsulate.h"
#include "packet/flow.h"
#include "packet/icmp/underlay.h"

#define BURST_MAX 64

/* Bytes before a frame that are enough for outer headers of `size` bytes, which overwrite the Ethernet header of the
 * frame, and for a tag. The tags of the frame are overwritten, too, so it needs as many bytes less. */
#define BURST_HEADROOM_FOR(size) ((size)-NET_ETHERNET_SIZE + NET_TAG_SIZE)

/* The same for the outer headers of any packet. Those of most tables need less: routes_headroom(). */
#define BURST_HEADROOM BURST_HEADROOM_FOR(ENCAPSULATE_MAX_SIZE)

struct burst {
	uint32_t count;

	/* Filled by the caller. The pipeline overwrites frames and the bytes before them. */
	uint8_t *frame[BURST_MAX] __attribute__((aligned(64))); /* from the Ethernet header on */
	uint32_t headroom[BURST_MAX]; /* writable bytes before the frame */
	uint32_t readable[BURST_MAX]; /* bytes of the frame that are contiguous */
	uint32_t size[BURST_MAX]; /* bytes of the whole frame */

	/* Filled by the fast path, else false: the burst has packets of both IP families. */
	bool mixed;

	/* Filled by the pipeline: how many packets the general path has parsed, and their lanes. */
	uint32_t general_path;
	uint64_t parsed;

	/* Filled by the parser. */
	uint8_t verdict[BURST_MAX]; /* enum verdict; later stages change it */
	struct flow flow[BURST_MAX] __attribute__((aligned(64)));

	/* Filled by steer_classify(). The other two only if routes->quic. */
	uint16_t table[BURST_MAX];
	uint8_t quic[BURST_MAX]; /* enum quic_fate; 0 in lanes without a table */
	uint32_t server[BURST_MAX]; /* that the connection ID names: index in routes->addresses, or QUIC_NO_SERVER */

	/* Filled by steer_find_hops(), and for the fast path by steer_hash_lanes(). */
	uint64_t hash[BURST_MAX];
	uint64_t alt_hash[BURST_MAX]; /* only by steer_hash_lanes() */
	uint32_t backend[BURST_MAX]; /* first hop: index in routes->addresses */
	uint16_t row[BURST_MAX];
	uint8_t hop_count[BURST_MAX];
	uint32_t hops[BURST_MAX][ENCAPSULATE_MAX_HOPS]; /* as in struct steer_result */

	/* Filled for VERDICT_UNDERLAY_TOO_BIG. */
	struct underlay_note underlay[BURST_MAX];

	/* Filled by the last stage for VERDICT_DROP_TOO_BIG: enum too_big_refusal. */
	uint8_t refusal[BURST_MAX];

	/* Filled by the last stage: the frame to send, or NULL. It overlaps `frame` and starts in or before it. */
	uint8_t *out[BURST_MAX];
	uint32_t out_size[BURST_MAX];
};

/* The set of all lanes: bit n stands for lane n. */
static inline uint64_t burst_lanes(const struct burst *burst)
{
	return burst->count == BURST_MAX ? UINT64_MAX : (1ull << burst->count) - 1;
}

/* Runs the statement that follows for each lane of a set, in ascending order. */
#define BURST_EACH(lane, lanes)                    \
	for (uint64_t lanes_left_ = (lanes), lane; \
		lanes_left_ && (lane = (uint64_t)__builtin_ctzll(lanes_left_), true); lanes_left_ &= lanes_left_ - 1)
