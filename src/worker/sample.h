/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bursts are counted for several tables, for backends and for binds. An lcore that has time left counts each packet of
 * tables and backends. One at its limit would lose a tenth of its speed, so it counts a few bursts, chosen at random, for all.
 * The samples of binds are from the same bursts.
 */
#ifndef GLB_WORKER_SAMPLE_H
#define GLB_WORKER_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An lcore is at its limit if in each of SAMPLE_ITERATIONS some queue gave SAMPLE_FULL packets or more. These are few iterations,
 * because an lcore at its limit does not keep up while it counts every packet, and the packets in excess must fit the queue.
 */
#define SAMPLE_ITERATIONS 16
#define SAMPLE_FULL       32

/* One of this number of bursts is sampled. */
#define SAMPLE_EVERY 64

/* random: of 64 bits, a new one for each burst. Bits below the upper 6 may decide what to sample of the burst. */
static inline bool sample_hit(uint64_t random)
{
	return random >> 58 == 0;
}

_Static_assert(SAMPLE_EVERY == 1 << 6, "sample_hit() compares the upper 6 bits of 64");

/* Returns how often to count each packet of a burst. at_limit: the lcore is at its limit. random: as in sample_hit(). */
static inline uint32_t sample_weight(bool at_limit, uint64_t random)
{
	return !at_limit ? 1 : sample_hit(random) ? SAMPLE_EVERY : 0;
}

#endif
