/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A burst of packets on its way through the pipeline: one array a field, one lane a packet. Each stage reads what the stages
 * before it wrote, for lanes whose verdict is still VERDICT_FORWARDED. Belongs to one thread.
 */
#ifndef GLB_PACKET_BURST_H
#define GLB_PACKET_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "gue/encapsulate.h"
#include "packet/flow.h"

#define BURST_MAX 64
/* Always enough before a frame, whatever is encapsulated. */
#define BURST_HEADROOM ENCAPSULATE_MAX_SIZE

struct burst {
	uint32_t count;

	/* The caller: frames, from the Ethernet header on. The bytes before are overwritten. */
	uint8_t *frame[BURST_MAX];
	uint32_t headroom[BURST_MAX]; /* writable bytes before the frame */
	uint32_t readable[BURST_MAX]; /* contiguous bytes */
	uint32_t size[BURST_MAX]; /* of the whole frame */

	bool mixed; /* the fast path has found both families in it */

	/* Parse. */
	uint8_t verdict[BURST_MAX]; /* enum verdict, also of the later stages */
	struct flow flow[BURST_MAX];

	/* Classify. */
	uint8_t table[BURST_MAX];

	/* Steer. */
	uint64_t hash[BURST_MAX];
	uint16_t row[BURST_MAX];
	uint8_t hop_count[BURST_MAX];
	uint32_t hops[BURST_MAX][ENCAPSULATE_MAX_HOPS]; /* network order */

	/* Emit: what to send, or NULL. It overlaps the frame and reaches before it. */
	uint8_t *out[BURST_MAX];
	uint32_t out_size[BURST_MAX];
};

/* All lanes, a bit each, as the stages take them. */
static inline uint64_t burst_lanes(const struct burst *burst)
{
	return burst->count == BURST_MAX ? UINT64_MAX : (1ull << burst->count) - 1;
}

/* Runs the statement for each lane of the set, in order. */
#define BURST_EACH(lane, lanes)                    \
	for (uint64_t lanes_left_ = (lanes), lane; \
		lanes_left_ && (lane = (uint64_t)__builtin_ctzll(lanes_left_), true); lanes_left_ &= lanes_left_ - 1)

#endif
