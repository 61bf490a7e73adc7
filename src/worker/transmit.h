/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one place that sends packets, frees those that could not be sent, and counts the verdict of both. Called by the lcore
 * that owns the counters and the sending end of the queue.
 */
#ifndef GLB_WORKER_TRANSMIT_H
#define GLB_WORKER_TRANSMIT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "packet/burst.h"
#include "worker/counters.h"
#include "worker/queue.h"

_Static_assert(QUEUE_BURST <= BURST_MAX, "an outbox has room for a burst");

/* What becomes of a packet once it is sent. It travels in mbuf->hash.usr where another lcore
 * transmits. */
struct outcome {
	uint8_t verdict; /* enum verdict, or OUTCOME_RETURNED */
	uint8_t slot; /* of the table, with VERDICT_FORWARDED */
};

#define OUTCOME_RETURNED VERDICT_COUNT /* not received from a port: it has no verdict */

struct outbox {
	uint16_t count;
	bool verdicts_differ, slots_differ; /* among the outcomes */
	struct rte_mbuf *mbufs[BURST_MAX];
	struct outcome outcomes[BURST_MAX];
	uint32_t sizes[BURST_MAX]; /* an mbuf that was sent may be gone */
};

static inline void outbox_put(struct outbox *outbox, struct rte_mbuf *mbuf, uint8_t verdict, uint8_t slot)
{
	uint16_t at = outbox->count++;

	outbox->outcomes[at] = (struct outcome){.verdict = verdict, .slot = slot};
	outbox->mbufs[at] = mbuf;
	outbox->sizes[at] = mbuf->pkt_len;
	outbox->verdicts_differ |= outbox->outcomes[0].verdict != verdict;
	outbox->slots_differ |= outbox->outcomes[0].slot != slot;
}

/* Sends all, in order, and empties the outbox. Packets that go into a ring are counted by who
 * transmits them. */
void transmit(const struct queue *queue, struct outbox *outbox, struct counters *counters);

/* The outcome that transmit() gave to an mbuf out of a ring. */
static inline struct outcome transmit_outcome(const struct rte_mbuf *mbuf)
{
	return (struct outcome){
		.verdict = (uint8_t)mbuf->hash.usr,
		.slot = (uint8_t)(mbuf->hash.usr >> 8),
	};
}

#endif
