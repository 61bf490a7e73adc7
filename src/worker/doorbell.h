/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wakes an lcore that sleeps while its work arrives by rings. The sleeper announces that it is
 * about to sleep, looks at its rings once more, and then waits on the descriptor; who puts work
 * into a ring looks for the announcement afterwards. One of the two sees the other.
 */
#ifndef GLB_WORKER_DOORBELL_H
#define GLB_WORKER_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

struct doorbell {
	int fd; /* eventfd, not blocking */
	bool sleeping; /* by the sleeper */
} __attribute__((aligned(64)));

/* By any lcore after it has filled a ring. NULL: the other side never sleeps. */
static inline void doorbell_ring(struct doorbell *bell)
{
	uint64_t one = 1;

	if (!bell)
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&bell->sleeping, __ATOMIC_RELAXED), 0) &&
		write(bell->fd, &one, sizeof(one)) < 0)
		return; /* its counter is full, so it was rung */
}

/* By the sleeper: before its last look at the rings, and after it woke up. */
static inline void doorbell_announce(struct doorbell *bell)
{
	__atomic_store_n(&bell->sleeping, true, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void doorbell_withdraw(struct doorbell *bell)
{
	uint64_t count;

	__atomic_store_n(&bell->sleeping, false, __ATOMIC_RELAXED);
	if (read(bell->fd, &count, sizeof(count)) < 0)
		return; /* it was not rung */
}

#endif
