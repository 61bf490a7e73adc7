/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures for people and, in JSON, for programs. */
#ifndef GLB_BENCH_REPORT_H
#define GLB_BENCH_REPORT_H

#include <stdbool.h>

/* One figure. Members that mean nothing for it are "" or 0. */
struct report_line {
	const char *path; /* what ran */
	const char *what; /* how it differs from plain steering */
	const char *how; /* which of several ways was the fastest */
	const char *set, *family;
	unsigned tables, binds, hops, backends, burst, lcores;
	const char *unit; /* "cycles" of the TSC per packet, "ms", "bytes" */
	double p10, median;
	bool noisy;
};

/* Sets p10, median and noisy; sorts the samples. */
void report_summarise(struct report_line *line, double *samples, unsigned count);

/* json: file to write, or NULL. Ends the process where it cannot be written. */
void report_open(const char *json);

/* Anything but cycles. */
void report_figure(const struct report_line *line);

/* The paths of one scenario, beside its io, floor and scalar twin with as many lcores. */
void report_scenario(const struct report_line *lines, unsigned count);

/* False: the JSON file is not whole. */
bool report_close(void);

#endif
