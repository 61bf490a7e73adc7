/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the packets and bytes of each backend. Called by the lcore that sends the packets. */
#ifndef GLB_WORKER_COUNT_BACKENDS_H
#define GLB_WORKER_COUNT_BACKENDS_H

#include <stdint.h>

#include "worker/transmit.h"
#include "worker/worker_shared.h"

/*
 * Counts the first `sent` packets `weight` times, if they are forwarded. outcomes: of these packets; NULL if all are forwarded.
 * backends: indices in routes->addresses. sizes: bytes.
 */
void count_backends(const struct live_table *live, unsigned worker, const struct outcome *outcomes,
	const uint32_t *backends, const uint32_t *sizes, uint32_t sent, uint32_t weight);

#endif
