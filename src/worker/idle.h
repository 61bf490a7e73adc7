/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pause of an lcore that finds no packets. With idle = "poll" it polls again at once. With idle = "sleep", after a
 * number of empty iterations, it waits for the file descriptors of its queues and for its doorbell, or takes short naps
 * if the driver of some queue has no file descriptor. The file descriptor of a card is that of its interrupt, which is
 * on only while the lcore waits. Owned by one lcore.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "worker/doorbell.h"

#define IDLE_MAX_FDS          64 /* with more, the lcore naps */
#define IDLE_EMPTY_ITERATIONS 200 /* before the lcore sleeps */
#define IDLE_LOST_INTERRUPTS  3 /* in a row; then the lcore no longer trusts them, and naps */

/* How an lcore waits for a receive queue. The main thread writes it; later that of port_recovery, while the port is
 * parked. */
struct idle_source {
	int fd; /* readable when the queue has packets; -1: none */
	bool is_interrupt; /* fd is an eventfd, and the interrupt must be switched on */
};

struct idle_interrupt {
	uint16_t port, queue;
	int fd;
};

struct idle {
	bool may_sleep;
	bool must_nap; /* not every queue has a file descriptor in fds[] */
	bool armed; /* the interrupts of some queues are on */
	uint32_t empty_iterations; /* consecutive */
	uint32_t nap_us; /* length of the next nap; 0: the shortest */
	unsigned fd_count;
	struct pollfd fds[IDLE_MAX_FDS]; /* the first is the doorbell */
	unsigned interrupt_count;
	struct idle_interrupt interrupts[IDLE_MAX_FDS];
	uint32_t lost; /* interrupts that did not come although there were packets, in a row */
	struct doorbell bell;
};

/* 0, or -errno: no file descriptor for the doorbell. */
int idle_open(struct idle *idle, bool may_sleep);
void idle_close(struct idle *idle);

/* Forgets all queues. */
void idle_forget(struct idle *idle);

/* A port that the lcore waits for was set up again. If the lcore no longer trusts interrupts, it gives them one more
 * chance. */
void idle_trust_again(struct idle *idle);

/* Adds a receive queue to wait for: one of a port. Nothing happens if the lcore may not sleep. */
void idle_watch(struct idle *idle, const struct idle_source *source, uint16_t port, uint16_t queue);

/*
 * Switches the interrupts of the queues on. Returns whether there are any. Then the caller must look at the queues once
 * more before it sleeps, because a packet that came before causes no interrupt.
 */
bool idle_arm(struct idle *idle);

/* Switches them off if they are on, and clears those that came. Queues that were forgotten meanwhile stay as
 * they are. */
void idle_disarm(struct idle *idle);

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

/*
 * Sleeps for at most 100 ms, or 1 ms if must_nap. The caller has called doorbell_announce(); idle_sleep() withdraws it.
 * Returns whether the file descriptor of a queue or the doorbell woke the lcore.
 */
bool idle_sleep(struct idle *idle);

/* Called when idle_sleep() returned false, but the queues had packets. */
void idle_missed(struct idle *idle);
