/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rates of a counter in the last minutes, for sparklines: a ring of a fixed size. Pure. The owner passes the same
 * index for all series that it samples together.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* With a sample every 5 seconds: 10 minutes. */
#define SERIES_SAMPLES 120

struct series {
	/* Per second, by sample; NAN: not known. */
	float rates[SERIES_SAMPLES];
	uint64_t last;
	bool started;
};

/* Forgets all rates. */
static inline void series_clear(struct series *series)
{
	series->started = false;
	for (unsigned i = 0; i < SERIES_SAMPLES; i++)
		series->rates[i] = NAN;
}

/*
 * Adds the value that a counter has now, `seconds` after its last one. The first value gives no rate, and neither does
 * one that is less than the last one: some drivers clear their counters.
 */
static inline void series_add(struct series *series, unsigned index, uint64_t value, double seconds)
{
	bool known = series->started && value >= series->last && seconds > 0;

	series->rates[index] = known ? (float)((double)(value - series->last) / seconds) : NAN;
	series->last = value;
	series->started = true;
}

/* Copies the known rates up to `index`, oldest first. Returns their number. */
static inline unsigned series_copy(const struct series *series, unsigned index, float rates[SERIES_SAMPLES])
{
	unsigned count = 0;

	for (unsigned i = 1; i <= SERIES_SAMPLES; i++) {
		float rate = series->rates[(index + i) % SERIES_SAMPLES];

		if (!isnan(rate))
			rates[count++] = rate;
	}
	return count;
}
