/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frames that a queue of the line hands out, and the mbufs that they are in. Used by the lcore
 * of that queue, so that they are in its caches.
 */
#ifndef GLB_BENCH_FRAMES_H
#define GLB_BENCH_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/line.h"
#include "bench/world.h"

enum frames_shape {
	FRAMES_WHOLE,
	FRAMES_SEGMENTS, /* the Ethernet header in an mbuf, the rest in the next */
	FRAMES_SHARED, /* someone else holds the mbuf, too */
	FRAMES_INDIRECT, /* attached to another mbuf's buffer */
};

struct frames {
	uint32_t count;
	enum frames_shape shape;
	bool consumed; /* by frames_consume() */
	bool cold; /* they, and their mbufs, leave all caches before a pass */
	struct rte_mempool *pool; /* theirs, and for copies */
	void *memory; /* of the pool */
	size_t memory_size;
	struct rte_mbuf **mbufs; /* in the order of arrival, which is not that of their addresses */
	uint64_t numbers; /* packets so far: the flows go on from pass to pass */
};

/* Ends the process where there is no memory. The other members are the caller's to set. */
void frames_open(struct frames *frames, unsigned queue, uint32_t count);
void frames_close(struct frames *frames);

/* Before the first pass. consumed: passes free mbufs, so they are allocated anew for each. */
void frames_consume(struct frames *frames, bool consumed);

/* Writes all frames for the next pass, and has the queue hand them out. */
void frames_refill(struct frames *frames, struct line_queue *queue, const struct world *world);

/* After a pass whose frames are consumed. */
void frames_reclaim(struct frames *frames, struct line *line);

/* After a pass: of all that was sent, in any order. Equal for equal frames. */
uint64_t frames_digest(const struct line *line);

#endif
