/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an lcore does that finds no packets: with idle = "poll" look again at once; with "sleep",
 * after a while, wait for the descriptors of its queues and its doorbell, or take short naps where
 * a driver has no descriptor. Belongs to one lcore.
 */
#ifndef GLB_WORKER_IDLE_H
#define GLB_WORKER_IDLE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "worker/doorbell.h"

#define IDLE_MAX_FDS 64

struct idle {
	bool may_sleep;
	bool must_nap; /* some queue has no descriptor */
	uint32_t empty_iterations; /* in a row */
	uint32_t nap_us; /* the next one, where blind */
	unsigned fd_count;
	struct pollfd fds[IDLE_MAX_FDS]; /* the first is the doorbell's */
	struct doorbell bell;
};

/* 0 or -errno: no descriptor for the doorbell. */
int idle_open(struct idle *idle, bool may_sleep);
void idle_close(struct idle *idle);

/* One more queue to wait for; -1: without a descriptor. */
void idle_watch(struct idle *idle, int fd);

/* After each round. True: time to sleep. */
static inline bool idle_iteration(struct idle *idle, uint32_t packets)
{
	if (packets) {
		idle->empty_iterations = 0;
		idle->nap_us = 0;
		return false;
	}
	return ++idle->empty_iterations > 200 && idle->may_sleep;
}

/* Waits 100 ms at most, 1 ms where blind. The doorbell must be announced already, and is withdrawn.
 */
void idle_sleep(struct idle *idle);

#endif
