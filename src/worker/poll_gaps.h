/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long an lcore takes from one iteration to the next, and in how much of this time it is busy. A long gap means
 * that the lcore did not run: the scheduler, an interrupt, the firmware or a hypervisor stopped it. Only the lcore
 * writes, with plain stores. Any thread may copy the numbers with poll_gaps_read().
 *
 * Reading the clock takes as long as a packet needs. So an lcore with packets reads it only in one of 32 iterations,
 * and a gap is then the time of up to 32 iterations. A reading also covers the iterations since the last one, so no
 * time is left out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Gaps of less than 2^i microseconds are in bucket i or in one before it; longer ones than the last bound are in the
 * last bucket. */
#define POLL_GAPS_BOUNDS     21
#define POLL_GAPS_SHIFT      24
#define POLL_GAPS_ITERATIONS 32

struct poll_gaps {
	uint64_t last; /* the last reading of the clock, in ticks of rte_rdtsc() */
	uint64_t scale; /* microseconds of a tick, times 2^POLL_GAPS_SHIFT */
	uint64_t polls; /* iterations until the last reading */
	bool before; /* the iteration at the last reading received packets */

	/* Atomic. Ticks of all gaps, and of those in which the lcore worked on packets. */
	uint64_t ticks, busy_ticks;
	uint64_t counts[POLL_GAPS_BOUNDS + 1]; /* atomic; the number of gaps in each bucket */
} __attribute__((aligned(64)));

/* polls: iterations so far. hz: ticks in a second. */
void poll_gaps_begin(struct poll_gaps *gaps, uint64_t now, uint64_t polls, uint64_t hz);

/* The lcore has slept on purpose. This time is no gap. */
static inline void poll_gaps_skip(struct poll_gaps *gaps, uint64_t now)
{
	gaps->last = now;
}

/*
 * Called after each iteration with the number of iterations so far, and of packets that this one received. Returns
 * whether poll_gaps_take() must follow.
 */
static inline bool poll_gaps_due(uint64_t polls, uint32_t packets)
{
	return !packets || polls % POLL_GAPS_ITERATIONS == 0;
}

/* The lcore works on the packets of an iteration in this iteration and in the next one. */
void poll_gaps_take(struct poll_gaps *gaps, uint64_t now, uint64_t polls, uint32_t packets);

/* A copy, in units for people. */
struct poll_gaps_report {
	double seconds; /* sum of all gaps */
	double busy_seconds;
	uint64_t counts[POLL_GAPS_BOUNDS + 1]; /* each bucket alone */
};

/* The upper bound of each bucket but the last, in seconds. */
extern const double poll_gaps_bounds[POLL_GAPS_BOUNDS];

void poll_gaps_read(const struct poll_gaps *gaps, uint64_t hz, struct poll_gaps_report *report);
