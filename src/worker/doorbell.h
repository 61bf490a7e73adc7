/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wakes an lcore that sleeps while its packets arrive in rings. Before the consumer sleeps, it announces that, looks at
 * its rings once more, and only then waits for the file descriptor. The producer looks for the announcement after it
 * has filled a ring. So either the consumer sees the packets, or the producer sees the announcement.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

struct doorbell {
	int fd; /* eventfd, non-blocking */
	bool sleeping; /* atomic; written by the consumer */
} __attribute__((aligned(64)));

/* Called by the producer after it has filled a ring. NULL: the consumer never sleeps. */
static inline void doorbell_ring(struct doorbell *bell)
{
	uint64_t one = 1;

	if (!bell)
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&bell->sleeping, __ATOMIC_RELAXED), 0) &&
		write(bell->fd, &one, sizeof(one)) < 0)
		return; /* the eventfd's counter is full, so the consumer wakes up anyway */
}

/* Called by the consumer before its last look at the rings. */
static inline void doorbell_announce(struct doorbell *bell)
{
	__atomic_store_n(&bell->sleeping, true, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Called by the consumer when it is awake again, or does not sleep after all. */
static inline void doorbell_withdraw(struct doorbell *bell)
{
	uint64_t count;

	__atomic_store_n(&bell->sleeping, false, __ATOMIC_RELAXED);
	if (read(bell->fd, &count, sizeof(count)) < 0)
		return; /* nobody rang */
}
