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
	uint8_t family[BURST_MAX];
	uint8_t kind[BURST_MAX]; /* enum flow_kind */
	uint8_t protocol[BURST_MAX];
	bool answerable[BURST_MAX];
	uint16_t source_port[BURST_MAX], destination_port[BURST_MAX]; /* host order */
	uint16_t hint[BURST_MAX]; /* host order */
	uint32_t ip_offset[BURST_MAX], ip_size[BURST_MAX];
	uint8_t source[BURST_MAX][16], destination[BURST_MAX][16]; /* network order */

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

/* Makes a lane what parsing its frame would have made it. */
static inline void burst_set_flow(struct burst *burst, uint32_t lane, enum verdict verdict, const struct flow *flow)
{
	burst->verdict[lane] = (uint8_t)verdict;
	burst->family[lane] = flow->family;
	burst->kind[lane] = flow->kind;
	burst->protocol[lane] = flow->protocol;
	burst->answerable[lane] = flow->answerable;
	burst->source_port[lane] = flow->source_port;
	burst->destination_port[lane] = flow->destination_port;
	burst->hint[lane] = flow->hint;
	burst->ip_offset[lane] = flow->ip_offset;
	burst->ip_size[lane] = flow->ip_size;
	__builtin_memcpy(burst->source[lane], flow->source, 16);
	__builtin_memcpy(burst->destination[lane], flow->destination, 16);
}

#endif
