/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "director/dpdk_compat.h"

#define PATIENCE_S 5 /* ends a pass that lost frames; the caller counts them */

/* Ends the pass if all frames were sent. Called at an empty poll when the worker holds no frames. */
static void end_pass(struct line_queue *queue)
{
	struct line *line = queue->line;
	uint64_t now = rte_rdtsc_precise();
	bool all_sent = line_sent(line) >= line->expected;

	if (!queue->end && (all_sent || queue->sent_count >= queue->count))
		queue->end = now;
	if (!all_sent && now - queue->begin < PATIENCE_S * rte_get_tsc_hz())
		return;
	line->busy = false;
	__atomic_store_n(line->stop, true, __ATOMIC_RELAXED);
}

static uint16_t receive(void *rx_queue, struct rte_mbuf **mbufs, uint16_t count)
{
	struct line_queue *queue = rx_queue;
	uint32_t left = queue->count - queue->at;

	if (!queue->begin) {
		queue->line->busy = true;
		queue->begin = rte_rdtsc_precise();
	}
	if (count > queue->line->burst)
		count = queue->line->burst;
	if (count > left)
		count = (uint16_t)left;
	if (count == 0) {
		if (queue->flushed)
			end_pass(queue);
		queue->flushed = true;
		return 0;
	}
	memcpy(mbufs, queue->received + queue->at, count * sizeof(*mbufs));
	queue->at += count;
	return count;
}

static uint16_t take(void *tx_queue, struct rte_mbuf **mbufs, uint16_t count)
{
	struct line_queue *queue = tx_queue;

	memcpy(queue->sent + queue->sent_count, mbufs, count * sizeof(*mbufs));
	__atomic_store_n(&queue->sent_count, queue->sent_count + count, __ATOMIC_RELEASE);
	return count;
}

/* Reports an empty queue. The queue never overflows, so a distributor may leave frames in it. */
static dpdk_queue_count waiting(void *queue)
{
	(void)queue;
	return 0;
}

/* Sets the functions that rte_eth_rx_burst(), rte_eth_tx_burst() and rte_eth_rx_queue_count() call. */
static void install(struct line *line)
{
	static void *no_callbacks[RTE_MAX_QUEUES_PER_PORT], *queues[LINE_QUEUES];
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[line->port];

	for (unsigned i = 0; i < LINE_QUEUES; i++)
		queues[i] = &line->queues[i];
	ops->rx_pkt_burst = receive;
	ops->tx_pkt_burst = take;
	ops->rx_queue_count = waiting;
	ops->rxq = ops->txq = (struct rte_ethdev_qdata){.data = queues, .clbk = no_callbacks};
}

void line_open(struct line *line, uint16_t port, uint32_t capacity)
{
	*line = (struct line){.port = port, .burst = 64};
	for (unsigned i = 0; i < LINE_QUEUES; i++) {
		line->queues[i].line = line;
		line->queues[i].sent = calloc(capacity, sizeof(*line->queues[i].sent));
		if (!line->queues[i].sent) {
			fprintf(stderr, "out of memory for %u frames\n", capacity);
			exit(EXIT_FAILURE);
		}
	}
	install(line);
}

void line_close(struct line *line)
{
	for (unsigned i = 0; i < LINE_QUEUES; i++)
		free(line->queues[i].sent);
}

void line_rewind(struct line *line, uint32_t expected)
{
	line->expected = expected;
	for (unsigned i = 0; i < LINE_QUEUES; i++) {
		struct line_queue *queue = &line->queues[i];

		queue->count = queue->at = queue->sent_count = 0;
		queue->flushed = false;
		queue->begin = queue->end = 0;
	}
}

uint32_t line_sent(const struct line *line)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < LINE_QUEUES; i++)
		sum += __atomic_load_n(&line->queues[i].sent_count, __ATOMIC_ACQUIRE);
	return sum;
}

/* Returns the time of the slowest lcore, measured from its own start, because lcores start at different times. */
uint64_t line_cycles(const struct line *line)
{
	uint64_t longest = 0;

	for (unsigned i = 0; i < LINE_QUEUES; i++) {
		const struct line_queue *queue = &line->queues[i];

		/* A queue has no end if the other queue ended the pass. */
		if (queue->end && queue->end - queue->begin > longest)
			longest = queue->end - queue->begin;
	}
	return longest;
}
