/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures for people and, in JSON, for programs. Cycles are those of the TSC, per packet. */
#ifndef GLB_BENCH_REPORT_H
#define GLB_BENCH_REPORT_H

#include <stdbool.h>

struct report_line {
	const char *path, *what, *set, *family;
	unsigned tables, binds, hops, burst, lcores;
	double p10, median;
	bool noisy;
};

/* Sorts the samples. */
double report_percentile(double *samples, unsigned count, unsigned percent);

/* json: file to write, or NULL. Ends the process where it cannot be written. */
void report_open(const char *json);

/* The paths of one scenario; the first is io, the third the floor and the fourth the scalar twin.
 */
void report_scenario(const struct report_line *lines, unsigned count);

/* Milliseconds, for a table with so many backends. */
void report_build(unsigned backends, double p10, double median);

/* False: the JSON file is not whole. */
bool report_close(void);

#endif
