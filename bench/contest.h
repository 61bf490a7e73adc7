/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures all contenders in one scenario: the director on each ISA, the director without its fast
 * path, and the baselines. They take turns with passes of 10 to 1000 us, so that a disturbance of the
 * machine affects all of them alike. A scenario is measured again until it is quiet, or as often as the limits allow. All
 * contenders that steer must send the same bytes.
 */
#pragma once

#include <stdio.h>

#include "bench/scenario.h"

struct contest_options {
	double seconds; /* time to measure a scenario */
	double *spare; /* seconds that may still be spent to measure noisy scenarios again; contest_run() reduces it */
	const char *isa; /* name of the only contender to measure, for a profiler; NULL: all */
	FILE *samples; /* receives the samples of profiled scenarios; NULL: none */
};

/* Returns the names that options.isa can have on this CPU, separated by spaces: ISAs and baselines. */
const char *contest_isas(void);

/* Adds the figures to the report. Exits if a frame is lost, or if two contenders send different bytes. */
void contest_run(const struct scenario *scenario, const struct contest_options *options);
