/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distribution in software, for ports with fewer receive queues than there are lcores. One lcore, the distributor,
 * receives and sends every flow to one of several workers, always the same one, through a ring per worker. The
 * distributor may be one of these workers itself. The packets of a flow stay in order, because they all pass the same
 * queue, lcore and ring.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "worker/counters.h"
#include "worker/queue.h"

#define DISTRIBUTE_RING_SIZE 2048 /* in packets; of the ring to a worker and of the ring back */

/* The packets of the current burst that one worker gets. */
struct distribute_share {
	uint16_t count;
	struct rte_mbuf *mbufs[QUEUE_BURST];
	struct queue ring; /* unused in the distributor's own share */
};

struct tap;

/* Owned by the lcore that receives. */
struct distributor {
	uint64_t seed; /* of distribute_hash() */
	uint16_t share_count; /* all workers; if the distributor works itself, its share is the last */
	uint16_t ring_count; /* workers other than the distributor itself */
	struct tap *tap; /* told about packets that are dropped; NULL: none */
	bool backpressure; /* some ring had no room for a whole burst when it was last looked at */
	struct distribute_share shares[];
};

/*
 * Returns whether the distributor should also work on packets, beside `workers` other lcores. With one worker, the
 * distributor takes half of the flows, because it would be idle otherwise. With more workers, receiving keeps it busy.
 */
static inline bool distribute_works_itself(uint16_t workers)
{
	return workers == 1;
}

/* The memory may be on any socket. NULL: out of memory. The caller sets the rings and frees the result with
 * rte_free(). */
struct distributor *distribute_create(uint16_t ring_count, bool works_itself);

/*
 * Returns whether the distributor may receive from `in` now. While a worker's ring is full, packets wait in the receive
 * queue, which has `descriptors` descriptors. When that queue is half full, the distributor receives nevertheless, so
 * that one slow worker does not hold up the others; the packets for the slow worker are then dropped.
 */
bool distribute_ready(struct distributor *distributor, const struct queue *in, uint16_t descriptors);

/*
 * Sends each packet of the burst to its worker. Frees and counts the packets that a ring has no room for. Returns the
 * distributor's own share, or NULL if it does not work itself. The caller sets the count of that share to 0 when it is
 * done.
 */
struct distribute_share *distribute_burst(
	struct distributor *distributor, struct rte_mbuf **mbufs, uint16_t count, struct counters *counters);
