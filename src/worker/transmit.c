/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/transmit.h"

#include <linux/if_tun.h>
#include <sys/uio.h>

#include <rte_pause.h>

#include "packet/exception_class.h"
#include "worker/tap/tap.h"

/* A full queue drains at line rate or not at all. More attempts would only delay the packets that arrive meanwhile. */
#define ATTEMPTS 4

/* The most segments of a frame for the exception path. Frames of more than 9 KB are never received. */
#define MAX_SEGMENTS 16

static uint16_t send_to_port(const struct queue *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	uint16_t sent = rte_eth_tx_burst(queue->port, queue->queue, mbufs, count);

	for (unsigned attempt = 1; unlikely(sent < count) && attempt < ATTEMPTS; attempt++) {
		rte_pause();
		sent += rte_eth_tx_burst(queue->port, queue->queue, mbufs + sent, count - sent);
	}
	return sent;
}

static uint16_t send_to_ring(const struct queue *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	uint16_t sent = (uint16_t)rte_ring_sp_enqueue_burst(queue->ring, (void **)mbufs, count, NULL);

	doorbell_ring(queue->bell);
	return sent;
}

static void transmit_mark(struct rte_mbuf *mbuf, struct outcome outcome)
{
	mbuf->hash.usr = outcome.verdict | (uint32_t)outcome.class << 8;
}

static uint16_t hand_over(const struct queue *queue, struct outbox *outbox)
{
	for (uint16_t i = 0; i < outbox->count; i++)
		transmit_mark(outbox->mbufs[i], outbox->outcomes[i]);
	if (WATCHES && unlikely(outbox->tap))
		tap_mark(outbox->tap, outbox->mbufs, outbox->count);
	return send_to_ring(queue, outbox->mbufs, outbox->count);
}

static void count_verdict(uint8_t verdict, uint64_t packets, uint64_t bytes, struct counters *counters)
{
	if (verdict == OUTCOME_RETURNED)
		counters_add(&counters->exception_returned, packets);
	else
		counters_add(&counters->verdicts[verdict], packets);
	counters_add(&counters->tx_packets, packets);
	counters_add(&counters->tx_bytes, bytes);
}

/*
 * Adds equal outcomes up first. If a counter were incremented for packet after packet, each addition would wait for the
 * store of the one before.
 */
static void count_sent(const struct outbox *outbox, uint16_t sent, struct counters *counters)
{
	const struct outcome *outcomes = outbox->outcomes;
	uint64_t bytes = 0;

	for (uint16_t i = 0; i < sent; i++)
		bytes += outbox->sizes[i];
	if (!outbox->verdicts_differ) {
		count_verdict(outcomes[0].verdict, sent, bytes, counters);
		return;
	}
	for (uint16_t i = 0; i < sent; i++)
		count_verdict(outcomes[i].verdict, 1, outbox->sizes[i], counters);
}

static void count_forwarded(const struct burst *burst, uint16_t sent, struct counters *counters)
{
	uint32_t bytes = 0;

	for (uint16_t i = 0; i < sent; i++)
		bytes += burst->out_size[i];
	count_verdict(VERDICT_FORWARDED, sent, bytes, counters);
}

static void count_unsent(const struct queue *queue, const struct outbox *outbox, uint16_t at, struct counters *counters)
{
	uint8_t outcome = outbox->outcomes[at].verdict;
	uint8_t verdict = outcome == VERDICT_EXCEPTION ? VERDICT_DROP_EXCEPTION_FULL : VERDICT_DROP_TX_FULL;

	if (outcome == OUTCOME_RETURNED) {
		counters_add(&counters->exception_return_full, 1);
	} else {
		counters_add(&counters->verdicts[verdict], 1);
		if (outbox->tap)
			tap_drop(outbox->tap, outbox->mbufs[at], verdict, queue->port);
	}
}

static void transmit_empty(struct outbox *outbox)
{
	outbox->count = 0;
	outbox->verdicts_differ = false;
}

uint16_t transmit(const struct queue *queue, struct outbox *outbox, struct counters *counters)
{
	uint16_t sent;

	if (outbox->count == 0)
		return 0;
	if (queue->ring) {
		sent = hand_over(queue, outbox);
	} else {
		sent = send_to_port(queue, outbox->mbufs, outbox->count);
		count_sent(outbox, sent, counters);
	}
	for (uint16_t i = sent; i < outbox->count; i++)
		count_unsent(queue, outbox, i, counters);
	if (unlikely(sent < outbox->count))
		rte_pktmbuf_free_bulk(outbox->mbufs + sent, outbox->count - sent);
	transmit_empty(outbox);
	return sent;
}

uint16_t transmit_forwarded(
	const struct queue *queue, struct rte_mbuf **mbufs, const struct burst *burst, struct counters *counters)
{
	uint16_t count = (uint16_t)burst->count, sent;

	if (queue->ring) {
		for (uint16_t i = 0; i < count; i++)
			transmit_mark(mbufs[i], (struct outcome){.verdict = VERDICT_FORWARDED});
		sent = send_to_ring(queue, mbufs, count);
	} else {
		sent = send_to_port(queue, mbufs, count);
		count_forwarded(burst, sent, counters);
	}
	if (unlikely(sent < count)) {
		counters_add(&counters->verdicts[VERDICT_DROP_TX_FULL], count - sent);
		rte_pktmbuf_free_bulk(mbufs + sent, count - sent);
	}
	return sent;
}

/* Returns whether the kernel took the frame. */
static bool write_frame(int tun, const struct rte_mbuf *mbuf)
{
	struct tun_pi info = {0}; /* the kernel reads the type from the frame */
	struct iovec pieces[1 + MAX_SEGMENTS] = {{&info, sizeof(info)}};
	int count = 1;

	for (; mbuf && count < (int)RTE_DIM(pieces); mbuf = mbuf->next)
		pieces[count++] = (struct iovec){rte_pktmbuf_mtod(mbuf, void *), mbuf->data_len};
	return !mbuf && writev(tun, pieces, count) > 0;
}

static void note_refused(const struct outbox *outbox, uint16_t at)
{
	if (outbox->tap)
		tap_drop(outbox->tap, outbox->mbufs[at], VERDICT_DROP_EXCEPTION_FULL, CAPTURE_NO_PORT);
}

/* Counts in passed[] the frames of each class that the kernel took. */
static void write_frames(int tun, struct outbox *outbox, uint16_t passed[EXCEPTION_CLASSES])
{
	for (uint16_t i = 0; i < outbox->count; i++) {
		if (write_frame(tun, outbox->mbufs[i]))
			passed[outbox->outcomes[i].class]++;
		else
			note_refused(outbox, i);
	}
	rte_pktmbuf_free_bulk(outbox->mbufs, outbox->count);
}

/* Counts in passed[] the frames of each class that the driver took. */
static void send_each(const struct queue *queue, struct outbox *outbox, uint16_t passed[EXCEPTION_CLASSES])
{
	for (uint16_t at = 0; at < outbox->count; at++) {
		uint16_t end = at + rte_eth_tx_burst(queue->port, queue->queue, outbox->mbufs + at, outbox->count - at);

		for (; at < end; at++)
			passed[outbox->outcomes[at].class]++;
		if (at == outbox->count)
			break;
		note_refused(outbox, at);
		rte_pktmbuf_free(outbox->mbufs[at]);
	}
}

/* Returns the sum. */
static uint16_t count_passed(const uint16_t passed[EXCEPTION_CLASSES], struct counters *counters)
{
	uint16_t sum = 0;

	for (unsigned i = 0; i < EXCEPTION_CLASSES; i++)
		sum += passed[i];
	counters_add(&counters->exception_neighbour, passed[EXCEPTION_NEIGHBOUR]);
	counters_add(&counters->exception_link, passed[EXCEPTION_LINK]);
	counters_add(&counters->exception_routing, passed[EXCEPTION_ROUTING]);
	counters_add(&counters->exception_icmp, passed[EXCEPTION_ICMP]);
	counters_add(&counters->exception_other, passed[EXCEPTION_OTHER]);
	return sum;
}

void transmit_exceptions(const struct queue *queue, struct outbox *outbox, struct counters *counters)
{
	uint16_t passed[EXCEPTION_CLASSES] = {0}, sum;

	if (outbox->count == 0)
		return;
	if (queue->ring) {
		transmit(queue, outbox, counters);
		return;
	}
	if (queue->tun)
		write_frames(queue->tun, outbox, passed);
	else
		send_each(queue, outbox, passed);
	sum = count_passed(passed, counters);
	counters_add(&counters->verdicts[VERDICT_EXCEPTION], sum);
	counters_add(&counters->verdicts[VERDICT_DROP_EXCEPTION_FULL], outbox->count - sum);
	transmit_empty(outbox);
}
