/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frames that a receive queue of the line hands out, and their mbufs. The lcore of the queue writes
 * the frames, so that they are in its caches.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bench/line.h"
#include "bench/world.h"

enum frames_shape {
	FRAMES_WHOLE,
	FRAMES_SEGMENTS, /* two segments: the Ethernet header, and the other bytes */
	FRAMES_SHARED, /* the mbuf's reference count is 2 */
	FRAMES_INDIRECT, /* attached to another mbuf's buffer */
};

struct frames {
	uint32_t count;
	enum frames_shape shape; /* set by the caller */
	bool consumed; /* set by frames_consume() */
	bool cold; /* set by the caller: flush frames and mbufs from all caches before a pass */
	struct rte_mempool *pool; /* for these mbufs, and for the director's copies */
	void *memory; /* of the pool */
	size_t memory_size; /* bytes */
	struct rte_mbuf **mbufs; /* in order of arrival, which is shuffled against their addresses */
	uint64_t numbers; /* number of packets written so far; the flows continue from pass to pass */
};

/* Allocates `count` frames. Exits if out of memory. ipv6_hops: as in struct world. */
void frames_open(struct frames *frames, unsigned queue, uint32_t count, bool ipv6_hops);
void frames_close(struct frames *frames);

/* Call before the first pass. consumed: passes free mbufs, so each pass allocates new ones. */
void frames_consume(struct frames *frames, bool consumed);

/* Writes all frames of the next pass, and gives them to the queue. */
void frames_refill(struct frames *frames, struct line_queue *queue, const struct world *world);

/* Frees the mbufs that a pass sent. Call after each pass if the frames are consumed. */
void frames_reclaim(struct frames *frames, struct line *line);

/* Returns a digest of all frames that the pass sent, which does not depend on their order. */
uint64_t frames_digest(const struct line *line);
