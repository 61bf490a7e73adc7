/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All paths through one scenario. They take turns, a pass each of some 10 to 1000 us, so that what
 * disturbs the machine disturbs them alike. Those that steer must leave the same bytes.
 */
#ifndef GLB_BENCH_CONTEST_H
#define GLB_BENCH_CONTEST_H

#include <stdio.h>

#include "bench/scenario.h"

struct contest_options {
	double seconds; /* of a scenario */
	const char *isa; /* runs only the contender of this name, for a profiler; NULL: all */
	FILE *samples; /* for scenarios that are profiled, or NULL */
};

/* The names that options.isa may have on this CPU, with spaces between them: the ISAs, and what they are compared with. */
const char *contest_isas(void);

/* Into the report. Ends the process where a frame is lost, or has other bytes than another path
 * gave it. */
void contest_run(const struct scenario *scenario, const struct contest_options *options);

#endif
