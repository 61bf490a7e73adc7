/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the figures, and writes them to a JSON file. One thread. */
#pragma once

#include <stdbool.h>

/* One figure. Members that do not apply are "" or 0. */
struct report_line {
	const char *name; /* of the contender or the measured function; "path" in JSON */
	const char *what; /* the difference from plain steering */
	const char *how; /* which of several variants was the fastest */
	const char *set, *family; /* scenario_set_name(), scenario_family_name() */
	unsigned tables, binds, hops, backends, burst, lcores;
	const char *unit; /* "cycles" (of the TSC per packet), "ms" or "bytes" */
	double p10, median; /* in units; p10 is the tenth percentile */
	double more; /* in units: than the contender that does less, measured pass by pass; 0: there is none */
	bool noisy; /* the median is far above p10 */
	unsigned attempts; /* how often the scenario was measured; this is the quietest attempt; 0: once */
};

/* Names the CPU and its microcode on standard output. */
void report_machine(void);

/* Sets p10, median and noisy from the samples, which it sorts. */
void report_summarise(struct report_line *line, double *samples, unsigned count);

/* json: the file to write, or NULL. Exits if it cannot be written. */
void report_open(const char *json);

/* Reports a figure that is not in cycles. */
void report_figure(const struct report_line *line);

/* Reports all contenders of a scenario. Compares each with io, floor and scalar on the same number of lcores. */
void report_scenario(const struct report_line *lines, unsigned count);

/* Counts a figure that was not measured, because the time limit was reached before. */
void report_left_out(void);

/* Returns false if the JSON file is incomplete. */
bool report_close(void);
