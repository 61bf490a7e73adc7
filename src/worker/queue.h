/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue from which an lcore takes packets, or into which it puts packets: a queue of a port, or a ring between two
 * lcores. Each end of a queue belongs to one lcore.
 */
#pragma once

#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "worker/doorbell.h"

#define QUEUE_BURST 64 /* packets that an lcore asks a queue for at a time */

struct queue {
	uint16_t port, queue; /* used if `ring` is NULL */
	int tun; /* file descriptor of the tun device of this queue, for transmit_exceptions(); 0: none */
	struct rte_ring *ring; /* single producer, single consumer */
	struct doorbell *bell; /* of the ring's consumer; NULL: that lcore never sleeps */
};

/* Called by the lcore that owns the receiving end. Returns the number of packets written to mbufs[]. */
static inline uint16_t queue_receive(const struct queue *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	if (queue->ring)
		return (uint16_t)rte_ring_sc_dequeue_burst(queue->ring, (void **)mbufs, count, NULL);
	return rte_eth_rx_burst(queue->port, queue->queue, mbufs, count);
}
