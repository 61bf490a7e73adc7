/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/distribute.h"

#include <rte_malloc.h>
#include <rte_random.h>

#include "worker/distribute_hash.h"
#include "worker/tap/tap.h"

struct distributor *distribute_create(uint16_t ring_count, bool works_itself)
{
	uint16_t share_count = ring_count + works_itself;
	struct distributor *distributor = rte_zmalloc("distributor",
		sizeof(*distributor) + share_count * sizeof(distributor->shares[0]), RTE_CACHE_LINE_SIZE);

	if (!distributor)
		return NULL;
	distributor->seed = rte_rand();
	distributor->share_count = share_count;
	distributor->ring_count = ring_count;
	return distributor;
}

static bool rings_have_room(const struct distributor *distributor)
{
	for (uint16_t i = 0; i < distributor->ring_count; i++)
		if (rte_ring_free_count(distributor->shares[i].ring.ring) < QUEUE_BURST)
			return false;
	return true;
}

bool distribute_ready(struct distributor *distributor, const struct queue *in, uint16_t descriptors)
{
	int waiting;

	if (likely(!distributor->backpressure))
		return true;
	distributor->backpressure = !rings_have_room(distributor);
	if (!distributor->backpressure)
		return true;
	waiting = rte_eth_rx_queue_count(in->port, in->queue);
	/* Drivers that return an error here read from the kernel or a file, which can keep the packets. */
	return waiting >= descriptors / 2;
}

static void distribute_enqueue(struct distributor *distributor, struct distribute_share *share, struct counters *counters)
{
	unsigned room;
	uint16_t sent = (uint16_t)rte_ring_sp_enqueue_burst(share->ring.ring, (void **)share->mbufs, share->count, &room);

	if (room < QUEUE_BURST)
		distributor->backpressure = true;
	if (unlikely(sent < share->count)) {
		for (uint16_t i = sent; distributor->tap && i < share->count; i++)
			tap_single(distributor->tap, share->mbufs[i], VERDICT_DROP_TX_FULL, share->mbufs[i]->port,
				CAPTURE_NO_PORT);
		rte_pktmbuf_free_bulk(share->mbufs + sent, share->count - sent);
		counters_add(&counters->verdicts[VERDICT_DROP_TX_FULL], share->count - sent);
	}
	doorbell_ring(share->ring.bell);
	share->count = 0;
}

struct distribute_share *distribute_burst(
	struct distributor *distributor, struct rte_mbuf **mbufs, uint16_t count, struct counters *counters)
{
	for (uint16_t i = 0; i < count; i++) {
		uint64_t hash =
			distribute_hash(rte_pktmbuf_mtod(mbufs[i], uint8_t *), mbufs[i]->data_len, distributor->seed);
		struct distribute_share *share = &distributor->shares[hash * distributor->share_count >> 32];

		share->mbufs[share->count++] = mbufs[i];
	}
	for (uint16_t i = 0; i < distributor->ring_count; i++)
		if (distributor->shares[i].count)
			distribute_enqueue(distributor, &distributor->shares[i], counters);
	return distributor->share_count > distributor->ring_count ? &distributor->shares[distributor->ring_count] : NULL;
}
