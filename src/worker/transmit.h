/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one place that sends packets, frees packets that could not be sent, and counts all of them. Called by the lcore
 * that owns the counters and the sending end of the queue.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "packet/burst.h"
#include "worker/counters.h"
#include "worker/queue.h"

_Static_assert(QUEUE_BURST <= BURST_MAX, "an outbox has room for a burst");

/* How to count a packet once a port has accepted it. If another lcore transmits the packet, its outcome is in
 * mbuf->hash.usr. */
struct outcome {
	uint16_t verdict; /* enum verdict, or OUTCOME_RETURNED */
	uint16_t class; /* enum exception_class for VERDICT_EXCEPTION */
};

/* The packet comes from the exception path, not from a port, so it has no verdict. */
#define OUTCOME_RETURNED VERDICT_COUNT

struct tap;

/* Packets that are sent together. */
struct outbox {
	struct tap *tap; /* told about packets that are not sent; NULL: none */
	uint16_t count;
	bool verdicts_differ; /* not all outcomes have the verdict of outcomes[0] */
	struct rte_mbuf *mbufs[BURST_MAX];
	struct outcome outcomes[BURST_MAX];
	uint32_t sizes[BURST_MAX]; /* kept, because the driver may already have freed an mbuf that it sent */
};

static inline void outbox_put(struct outbox *outbox, struct rte_mbuf *mbuf, uint8_t verdict, uint16_t class)
{
	uint16_t at = outbox->count++;

	outbox->outcomes[at] = (struct outcome){.verdict = verdict, .class = class};
	outbox->mbufs[at] = mbuf;
	outbox->sizes[at] = mbuf->pkt_len;
	outbox->verdicts_differ |= outbox->outcomes[0].verdict != verdict;
}

/*
 * Sends all packets in order and empties the outbox. Frees and counts the packets that the queue has no room for. If
 * the queue is a ring, the lcore that later transmits the packets counts them. Returns how many packets the queue
 * accepted.
 */
uint16_t transmit(const struct queue *queue, struct outbox *outbox, struct counters *counters);

/* The same for the packets of a burst that the pipeline forwards all of, with their finished mbufs, and while no
 * capture runs. */
uint16_t transmit_forwarded(
	const struct queue *queue, struct rte_mbuf **mbufs, const struct burst *burst, struct counters *counters);

/*
 * transmit() for frames to the exception path. A driver that refuses one frame accepts none behind it in the same call.
 * So each refused frame is dropped, and the others are sent. If the queue has a tun device, the frames are written to
 * it, because tap's driver refuses all frames above 1522 bytes, whatever the MTU is.
 */
void transmit_exceptions(const struct queue *queue, struct outbox *outbox, struct counters *counters);

/* For an mbuf from a ring: the outcome that it had in the outbox of the lcore that put it there. */
static inline struct outcome transmit_outcome(const struct rte_mbuf *mbuf)
{
	return (struct outcome){
		.verdict = (uint8_t)mbuf->hash.usr,
		.class = (uint16_t)(mbuf->hash.usr >> 8),
	};
}
