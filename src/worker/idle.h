/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pause of an lcore that finds no packets. With idle = "poll" it polls again at once. With idle = "sleep", after a number of
 * empty iterations, it waits for the file descriptors of its queues and for its doorbell, or takes short naps if the driver of some
 * queue has no file descriptor. Owned by one lcore.
 */
#ifndef GLB_WORKER_IDLE_H
#define GLB_WORKER_IDLE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "worker/doorbell.h"

#define IDLE_MAX_FDS          64 /* with more, the lcore naps */
#define IDLE_EMPTY_ITERATIONS 200 /* before the lcore sleeps */

struct idle {
	bool may_sleep;
	bool must_nap; /* not every queue has a file descriptor in fds[] */
	uint32_t empty_iterations; /* consecutive */
	uint32_t nap_us; /* length of the next nap; 0: the shortest */
	unsigned fd_count;
	struct pollfd fds[IDLE_MAX_FDS]; /* the first is the doorbell */
	struct doorbell bell;
};

/* 0, or -errno: no file descriptor for the doorbell. */
int idle_open(struct idle *idle, bool may_sleep);
void idle_close(struct idle *idle);

/* Adds a queue to wait for. fd: readable when the queue has packets; -1: the queue has no file descriptor. */
void idle_watch(struct idle *idle, int fd);

/* Called after each iteration with the number of packets received. Returns whether it is time to sleep. */
static inline bool idle_iteration(struct idle *idle, uint32_t packets)
{
	if (packets) {
		idle->empty_iterations = 0;
		idle->nap_us = 0;
		return false;
	}
	return ++idle->empty_iterations > IDLE_EMPTY_ITERATIONS && idle->may_sleep;
}

/* Sleeps for at most 100 ms, or 1 ms if must_nap. The caller has called doorbell_announce(); idle_sleep() withdraws it. */
void idle_sleep(struct idle *idle);

#endif
