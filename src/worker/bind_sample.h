/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Estimates how many packets and bytes each bind gets. The fast path does not know the bind of a packet, and to look it up for
 * each packet would cost more than all other steps together. So one packet, chosen at random, counts for all packets that are sent
 * together, and if these are many, for those of several bursts. Called by the lcore that sends them.
 */
#ifndef GLB_WORKER_BIND_SAMPLE_H
#define GLB_WORKER_BIND_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/sample.h"
#include "worker/transmit.h"
#include "worker/worker_shared.h"

/* A burst with fewer packets is always sampled, others if sample_hit() says so. */
#define BIND_SAMPLE_MANY 8

/* A packet that stands for others. */
struct bind_sample {
	uint32_t at; /* its place among the packets that are sent */
	uint32_t weight; /* packets that it stands for; 0: there is no sample */
	uint32_t size; /* bytes, with the outer headers */
	int bind; /* as steer_find_packet_bind() returns it */
};

/* Returns whether one of `count` packets is sampled. random: of 64 bits, a new one for each burst. */
static inline bool bind_sample_due(uint32_t count, uint64_t random)
{
	return count < BIND_SAMPLE_MANY || sample_hit(random);
}

/* Returns the place of the packet to sample, below `count`. random: as in bind_sample_due(). */
static inline uint32_t bind_sample_place(uint32_t count, uint64_t random)
{
	/* The 32 bits below those that have decided whether there is a sample. */
	return (uint32_t)((random >> 26 & UINT32_MAX) * count >> 32);
}

/* Looks up the bind of a packet before it is sent. mbuf: at `at` of `count` packets that are sent together, and forwarded. */
struct bind_sample bind_sample_take(
	const struct rte_mbuf *mbuf, uint32_t at, uint32_t count, const struct routes *routes);

/* The same for a packet of the outbox, if one is due and the packet is forwarded. */
struct bind_sample bind_sample_choose(const struct outbox *outbox, const struct routes *routes, uint64_t random);

/* Counts the sample if it is among the first `sent` packets, because the queue accepted only these. */
void bind_sample_count(const struct bind_sample *sample, uint32_t sent, const struct live_table *live, unsigned worker);

#endif
