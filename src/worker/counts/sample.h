/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bursts count for backends and for binds. To count each packet would take an lcore at its limit up to a twelfth
 * of its speed, and to look up its bind much more. So if large bursts follow each other, some of them, chosen at
 * random, count for all.
 */
#pragma once

#include <stdint.h>

/* Each burst with fewer packets counts: for backends (SAMPLE_FULL), and for binds (SAMPLE_MANY). */
#define SAMPLE_FULL 32
#define SAMPLE_MANY 8

/* One in SAMPLE_EVERY of the larger bursts counts. */
#define SAMPLE_EVERY 64

/*
 * For backends, a larger burst also counts if there is credit for it: for SAMPLE_CREDIT bursts, of which one is
 * regained in SAMPLE_REGAIN iterations, and all during a sleep. So what an lcore with little to do counts is exact.
 */
#define SAMPLE_CREDIT 32
#define SAMPLE_REGAIN 128

/* Chooses bursts and packets. Owned by an lcore. */
struct sampler {
	uint64_t random;
	uint32_t left; /* bursts of SAMPLE_MANY packets or more until the next one that is chosen, with it */
	uint32_t credit; /* bursts of SAMPLE_FULL packets or more */
};

/* How often each packet of a burst counts. 0: not at all. If it counts for a bind, it counts for a backend, too. */
struct sample_weights {
	uint32_t backend, bind;
};

/* Returns a random number below `end`. */
static inline uint32_t sample_draw(struct sampler *sampler, uint32_t end)
{
	sampler->random = sampler->random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
	return (uint32_t)((sampler->random >> 32) * end >> 32);
}

/* The next one is after 33 to 95 bursts, on average SAMPLE_EVERY, so that they do not follow a rhythm of the
 * traffic. */
static inline void sample_again(struct sampler *sampler)
{
	sampler->left = SAMPLE_EVERY / 2 + 1 + sample_draw(sampler, SAMPLE_EVERY - 1);
}

/* The lcore has slept, so it has little to do. */
static inline void sample_rest(struct sampler *sampler)
{
	sampler->credit = SAMPLE_CREDIT;
}

/* seed: any number, another one for each lcore. */
static inline void sample_begin(struct sampler *sampler, uint64_t seed)
{
	sampler->random = seed;
	sample_rest(sampler);
	sample_again(sampler);
}

/* Called in one of SAMPLE_REGAIN iterations. */
static inline void sample_regain(struct sampler *sampler)
{
	sampler->credit += sampler->credit < SAMPLE_CREDIT;
}

/* Called once for each burst. count: its packets. */
static inline struct sample_weights sample_burst(struct sampler *sampler, uint32_t count)
{
	struct sample_weights weights = {0};

	if (count >= SAMPLE_MANY && --sampler->left == 0) {
		sample_again(sampler);
		weights.backend = weights.bind = SAMPLE_EVERY;
	}
	if (count < SAMPLE_MANY)
		weights.bind = 1;
	if (count < SAMPLE_FULL) {
		weights.backend = 1;
	} else if (sampler->credit) {
		sampler->credit--;
		weights.backend = 1;
	}
	return weights;
}
