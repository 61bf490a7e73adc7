/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long an lcore takes from one iteration to the next, and in how much of this time it is busy. A long gap means that the
 * lcore did not run: the scheduler, an interrupt, the firmware or a hypervisor stopped it. Only the lcore writes, with plain
 * stores. Any thread may copy the numbers with poll_gaps_read().
 *
 * Reading the clock takes as long as a packet needs. So an lcore with packets reads it in every eighth iteration, and a
 * gap is then that of eight iterations.
 */
#ifndef GLB_WORKER_POLL_GAPS_H
#define GLB_WORKER_POLL_GAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Gaps of less than 2^i microseconds are in bucket i or in one before it; longer ones than the last bound are in the last bucket. */
#define POLL_GAPS_BOUNDS     21
#define POLL_GAPS_SHIFT      24
#define POLL_GAPS_ITERATIONS 8

struct poll_gaps {
	uint64_t last; /* the last reading of the clock, in ticks of rte_rdtsc() */
	uint64_t scale; /* microseconds of a tick, times 2^POLL_GAPS_SHIFT */
	uint32_t before; /* packets that the iteration at the last reading received */
	uint32_t unread; /* iterations with packets since the last reading */

	/* Atomic. Ticks of all gaps, and of those in which the lcore worked on packets. */
	uint64_t ticks, busy_ticks;
	uint64_t counts[POLL_GAPS_BOUNDS + 1]; /* atomic; the number of gaps in each bucket */
} __attribute__((aligned(64)));

/* hz: ticks in a second. */
static inline void poll_gaps_begin(struct poll_gaps *gaps, uint64_t now, uint64_t hz)
{
	gaps->last = now;
	gaps->scale = (UINT64_C(1000000) << POLL_GAPS_SHIFT) / hz;
}

/* The lcore has slept on purpose. This time is no gap. */
static inline void poll_gaps_skip(struct poll_gaps *gaps, uint64_t now)
{
	gaps->last = now;
}

static inline void poll_gaps_add(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, *to + value, __ATOMIC_RELAXED);
}

/* Called after each iteration with the number of packets that it received. Returns whether poll_gaps_take() must follow. */
static inline bool poll_gaps_due(struct poll_gaps *gaps, uint32_t packets)
{
	return !packets || ++gaps->unread == POLL_GAPS_ITERATIONS;
}

/* The lcore works on the packets of an iteration in this iteration and in the next one. */
static inline void poll_gaps_take(struct poll_gaps *gaps, uint64_t now, uint32_t packets)
{
	uint64_t gap = now - gaps->last, us = gap * gaps->scale >> POLL_GAPS_SHIFT;
	unsigned bucket = 63 - (unsigned)__builtin_clzll(2 * us + 1);

	poll_gaps_add(&gaps->ticks, gap);
	poll_gaps_add(&gaps->busy_ticks, gaps->unread | gaps->before ? gap : 0);
	poll_gaps_add(&gaps->counts[bucket < POLL_GAPS_BOUNDS ? bucket : POLL_GAPS_BOUNDS], 1);
	gaps->last = now;
	gaps->before = packets;
	gaps->unread = 0;
}

/* A copy, in units for people. */
struct poll_gaps_report {
	double seconds; /* sum of all gaps */
	double busy_seconds;
	uint64_t counts[POLL_GAPS_BOUNDS + 1]; /* each bucket alone */
};

/* The upper bound of each bucket but the last, in seconds. */
extern const double poll_gaps_bounds[POLL_GAPS_BOUNDS];

void poll_gaps_read(const struct poll_gaps *gaps, uint64_t hz, struct poll_gaps_report *report);

#endif
