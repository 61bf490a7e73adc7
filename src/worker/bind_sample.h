/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Estimates how many packets and bytes each bind gets. The fast path does not know the bind of a packet, and to look it up for
 * each packet would cost more than all other steps together. So one packet, chosen at random, counts for the whole outbox, and
 * if there are many packets, for the outboxes of several bursts. Called by the lcore that owns the outbox.
 */
#ifndef GLB_WORKER_BIND_SAMPLE_H
#define GLB_WORKER_BIND_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/transmit.h"
#include "worker/worker_shared.h"

/* Of outboxes with this number of packets or more, one of BIND_SAMPLE_EVERY is sampled; of the others each one. */
#define BIND_SAMPLE_MANY  8
#define BIND_SAMPLE_EVERY 64

struct bind_sample {
	uint32_t at; /* in the outbox */
	uint32_t weight; /* packets that it stands for; 0: there is no sample */
	uint32_t size; /* bytes, with the outer headers */
	int bind; /* as steer_find_packet_bind() returns it */
};

/* random: of 64 bits, for the choice. */
struct bind_sample bind_sample_choose(const struct outbox *outbox, const struct routes *routes, uint64_t random);

/* Returns whether one of `count` packets is sampled. */
static inline bool bind_sample_due(uint32_t count, uint64_t random)
{
	return count < BIND_SAMPLE_MANY || random >> 58 == 0;
}

/*
 * Chooses a packet, before the packets are sent. random: a new one for each burst.
 */
static inline struct bind_sample bind_sample_take(
	const struct outbox *outbox, const struct routes *routes, uint64_t random)
{
	if (!bind_sample_due(outbox->count, random))
		return (struct bind_sample){0};
	return bind_sample_choose(outbox, routes, random);
}

_Static_assert(BIND_SAMPLE_EVERY == 1 << 6, "bind_sample_due() compares the upper 6 bits of 64");

/* Counts the sample if it is among the first `sent` packets, because the queue accepted only these. */
void bind_sample_count(const struct bind_sample *sample, uint32_t sent, const struct live_table *live, unsigned worker);

#endif
