/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/poll_gaps.h"

#define US(power) ((double)(1u << (power)) / 1e6)

const double poll_gaps_bounds[POLL_GAPS_BOUNDS] = {US(0), US(1), US(2), US(3), US(4), US(5), US(6), US(7), US(8), US(9),
	US(10), US(11), US(12), US(13), US(14), US(15), US(16), US(17), US(18), US(19), US(20)};

void poll_gaps_begin(struct poll_gaps *gaps, uint64_t now, uint64_t polls, uint64_t hz)
{
	gaps->last = now;
	gaps->polls = polls;
	gaps->scale = (UINT64_C(1000000) << POLL_GAPS_SHIFT) / hz;
}

static void poll_gaps_add(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, *to + value, __ATOMIC_RELAXED);
}

void poll_gaps_take(struct poll_gaps *gaps, uint64_t now, uint64_t polls, uint32_t packets)
{
	uint64_t gap = now - gaps->last, us = gap * gaps->scale >> POLL_GAPS_SHIFT;
	unsigned bucket = 63 - (unsigned)__builtin_clzll(2 * us + 1);
	/* All iterations between two readings received packets, because one without packets is followed by a
	 * reading. */
	bool busy = gaps->before || packets || polls - gaps->polls > 1;

	poll_gaps_add(&gaps->ticks, gap);
	poll_gaps_add(&gaps->busy_ticks, busy ? gap : 0);
	poll_gaps_add(&gaps->counts[bucket < POLL_GAPS_BOUNDS ? bucket : POLL_GAPS_BOUNDS], 1);
	gaps->last = now;
	gaps->polls = polls;
	gaps->before = packets;
}

void poll_gaps_read(const struct poll_gaps *gaps, uint64_t hz, struct poll_gaps_report *report)
{
	report->seconds = (double)__atomic_load_n(&gaps->ticks, __ATOMIC_RELAXED) / (double)hz;
	report->busy_seconds = (double)__atomic_load_n(&gaps->busy_ticks, __ATOMIC_RELAXED) / (double)hz;
	for (unsigned i = 0; i <= POLL_GAPS_BOUNDS; i++)
		report->counts[i] = __atomic_load_n(&gaps->counts[i], __ATOMIC_RELAXED);
}
