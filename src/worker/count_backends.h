/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the packets and bytes of each backend. An lcore that has time left counts every packet. To a busy lcore this would cost
 * a tenth of its speed, so it counts a few bursts, chosen at random, for all. Called by the lcore that sends the packets.
 */
#ifndef GLB_WORKER_COUNT_BACKENDS_H
#define GLB_WORKER_COUNT_BACKENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/sample.h"
#include "worker/transmit.h"
#include "worker/worker_shared.h"

/* An lcore has no time left if this number of iterations in a row received packets. */
#define COUNT_BACKENDS_BUSY 1024

/* Returns how often to count each packet of a burst. busy: the lcore has no time left. random: of 64 bits, a new one for each burst. */
static inline uint32_t count_backends_weight(bool busy, uint64_t random)
{
	return !busy ? 1 : sample_hit(random) ? SAMPLE_EVERY : 0;
}

/*
 * Counts the first `sent` packets `weight` times, if they are forwarded. outcomes: of these packets; NULL if all are forwarded.
 * backends: indices in routes->addresses. sizes: bytes.
 */
void count_backends(const struct live_table *live, unsigned worker, const struct outcome *outcomes,
	const uint32_t *backends, const uint32_t *sizes, uint32_t sent, uint32_t weight);

#endif
