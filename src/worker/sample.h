/* SPDX-License-Identifier: BSD-3-Clause */
/* Which bursts are sampled. The samples of binds and those of backends are from the same bursts. */
#ifndef GLB_WORKER_SAMPLE_H
#define GLB_WORKER_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* One of this number of bursts is sampled. */
#define SAMPLE_EVERY 64

/* random: of 64 bits, a new one for each burst. Bits below the upper 6 may decide what to sample of the burst. */
static inline bool sample_hit(uint64_t random)
{
	return random >> 58 == 0;
}

_Static_assert(SAMPLE_EVERY == 1 << 6, "sample_hit() compares the upper 6 bits of 64");

#endif
