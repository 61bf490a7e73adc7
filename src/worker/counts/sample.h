/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bursts are counted for backends and for binds. An lcore that has time left counts each packet of a backend. One at its
 * limit would lose a twentieth of its speed with many tables, so it counts some bursts, chosen at random, for all. The samples of
 * binds are from the same bursts.
 */
#ifndef GLB_WORKER_COUNTS_SAMPLE_H
#define GLB_WORKER_COUNTS_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An lcore is at its limit if in each of SAMPLE_ITERATIONS some queue gave SAMPLE_FULL packets or more. These are few iterations,
 * because an lcore at its limit does not keep up while it counts every packet, and the packets in excess must fit the queue.
 */
#define SAMPLE_ITERATIONS 16
#define SAMPLE_FULL       32

/* A burst with fewer packets than SAMPLE_MANY is always sampled, and of other ones one in SAMPLE_EVERY. */
#define SAMPLE_MANY  8
#define SAMPLE_EVERY 64

/* Chooses bursts and packets. Owned by an lcore. */
struct sampler {
	uint64_t random;
	uint32_t left; /* bursts until the next sample, with it, of those that are not always sampled */
};

/* Returns a random number below `end`. */
static inline uint32_t sample_draw(struct sampler *sampler, uint32_t end)
{
	sampler->random = sampler->random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
	return (uint32_t)((sampler->random >> 32) * end >> 32);
}

/* The next sample is after 33 to 95 bursts, on average SAMPLE_EVERY, so that the samples do not follow a rhythm of the traffic. */
static inline void sample_again(struct sampler *sampler)
{
	sampler->left = SAMPLE_EVERY / 2 + 1 + sample_draw(sampler, SAMPLE_EVERY - 1);
}

/* seed: any number, another one for each lcore. */
static inline void sample_begin(struct sampler *sampler, uint64_t seed)
{
	sampler->random = seed;
	sample_again(sampler);
}

/* Called once for each burst. Returns whether it is sampled. Then the caller calls sample_weight(). */
static inline bool sample_due(struct sampler *sampler, uint32_t count)
{
	return count < SAMPLE_MANY || --sampler->left == 0;
}

/* Returns how often each packet of a sampled burst counts. */
static inline uint32_t sample_weight(struct sampler *sampler, uint32_t count)
{
	if (count < SAMPLE_MANY)
		return 1;
	sample_again(sampler);
	return SAMPLE_EVERY;
}

#endif
