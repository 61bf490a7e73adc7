/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/distribute.h"

#include <rte_malloc.h>
#include <rte_random.h>

#include "worker/distribute_hash.h"

struct spread *spread_create(uint16_t ring_count, bool works_itself)
{
	uint16_t share_count = ring_count + works_itself;
	struct spread *spread = rte_zmalloc("spread",
		sizeof(*spread) + share_count * sizeof(spread->shares[0]), RTE_CACHE_LINE_SIZE);

	if (!spread)
		return NULL;
	spread->seed = rte_rand();
	spread->share_count = share_count;
	spread->ring_count = ring_count;
	return spread;
}

static bool rings_have_room(const struct spread *spread)
{
	for (uint16_t i = 0; i < spread->ring_count; i++)
		if (rte_ring_free_count(spread->shares[i].ring.ring) < PORT_BURST)
			return false;
	return true;
}

bool spread_ready(struct spread *spread, const struct queue *in, uint16_t descriptors)
{
	int waiting;

	if (likely(!spread->pressed))
		return true;
	spread->pressed = !rings_have_room(spread);
	if (!spread->pressed)
		return true;
	waiting = rte_eth_rx_queue_count(in->port, in->queue);
	return waiting >=
	       descriptors / 2; /* a driver that cannot tell has a kernel or a file behind it */
}

static void hand_out(struct spread *spread, struct spread_share *share, struct counters *counters)
{
	unsigned room;
	uint16_t sent = (uint16_t)rte_ring_sp_enqueue_burst(
		share->ring.ring, (void **)share->mbufs, share->count, &room);

	if (room < PORT_BURST)
		spread->pressed = true;
	if (unlikely(sent < share->count)) {
		rte_pktmbuf_free_bulk(share->mbufs + sent, share->count - sent);
		counters_add(&counters->verdicts[VERDICT_DROP_TX_FULL], share->count - sent);
	}
	doorbell_ring(share->ring.bell);
	share->count = 0;
}

struct spread_share *spread_burst(
	struct spread *spread, struct rte_mbuf **mbufs, uint16_t count, struct counters *counters)
{
	for (uint16_t i = 0; i < count; i++) {
		uint64_t hash = spread_hash(
			rte_pktmbuf_mtod(mbufs[i], uint8_t *), mbufs[i]->data_len, spread->seed);
		struct spread_share *share = &spread->shares[hash * spread->share_count >> 32];

		share->mbufs[share->count++] = mbufs[i];
	}
	for (uint16_t i = 0; i < spread->ring_count; i++)
		if (spread->shares[i].count)
			hand_out(spread, &spread->shares[i], counters);
	return spread->share_count > spread->ring_count ? &spread->shares[spread->ring_count]
							: NULL;
}
