/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Software spreading, for ports with fewer queues than there are lcores: one lcore receives and
 * gives every flow to always the same one of several, itself among them, by a ring each. Order
 * within a flow is kept: one queue, one lcore, first in, first out.
 */
#ifndef GLB_WORKER_DISTRIBUTE_H
#define GLB_WORKER_DISTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "worker/counters.h"
#include "worker/queue.h"

#define DISTRIBUTE_RING_SIZE \
	2048 /* packets that may wait for an lcore, to its distributor and back                    \
	      */

struct distribute_share {
	uint16_t count; /* of this burst */
	struct rte_mbuf *mbufs[QUEUE_BURST];
	struct queue ring; /* of a worker */
};

/* Belongs to the receiving lcore. */
struct distributor {
	uint64_t seed;
	uint16_t share_count; /* workers, and the receiving lcore itself in the last place if it
				 works too */
	uint16_t ring_count; /* workers */
	bool backpressure; /* a ring has no room for a whole burst */
	struct distribute_share shares[]; /* one an lcore */
};

/*
 * Whether the receiving lcore should also work on packets, beside `workers` others. With one it
 * does half of the work, where it would otherwise wait; with more, receiving keeps it busy.
 */
static inline bool distribute_works_itself(uint16_t workers)
{
	return workers == 1;
}

/* On any socket; NULL: no memory. Free it with rte_free(). */
struct distributor *distribute_create(uint16_t ring_count, bool works_itself);

/*
 * May packets be received? While a worker's ring is full they had better wait in the port, as long
 * as it has room for them; then, one worker that cannot keep up must not hold up the others, and
 * its packets are dropped.
 */
bool distribute_ready(struct distributor *distributor, const struct queue *in, uint16_t descriptors);

/* Sends the burst to the workers; drops and counts what a ring has no room for. Returns the
 * receiver's own share, if it has one. */
struct distribute_share *distribute_burst(
	struct distributor *distributor, struct rte_mbuf **mbufs, uint16_t count, struct counters *counters);

#endif
