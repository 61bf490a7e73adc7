/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Estimates how many packets and bytes each bind gets. The fast path does not know the bind of a packet, and to look it
 * up for each packet would cost more than all other steps together. So one packet, chosen at random, counts for all
 * packets that are sent together, and if these are many, for those of several bursts. Called by the lcore that sends
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "worker/counts/sample.h"
#include "worker/transmit.h"
#include "worker/worker_shared.h"

/* A packet that stands for others. */
struct bind_sample {
	uint32_t at; /* its place among the packets that are sent */
	uint32_t weight; /* packets that it stands for; 0: there is no sample */
	uint32_t size; /* bytes, with the outer headers */
	int bind; /* as steer_find_packet_bind() returns it */
};

/*
 * Chooses one of `count` packets that are sent together, all of them forwarded, and looks up its bind before it is
 * sent. weight: of the burst, from sample_burst().
 */
struct bind_sample bind_sample_take(struct sampler *sampler, struct rte_mbuf *const *mbufs, uint32_t count,
	uint32_t weight, const struct routes *routes);

/* The same for the packets of the outbox. If the chosen one is not forwarded, there is no sample. */
struct bind_sample bind_sample_choose(
	struct sampler *sampler, const struct outbox *outbox, uint32_t weight, const struct routes *routes);

/* Counts the sample if it is among the first `sent` packets, because the queue accepted only these. */
void bind_sample_count(const struct bind_sample *sample, uint32_t sent, const struct live_table *live, unsigned worker);
