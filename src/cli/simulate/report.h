/* SPDX-License-Identifier: BSD-3-Clause */
/* What a simulation found, for people and as JSON. One thread. */
#pragma once

#include "cli/simulate/flows.h"

/* The state after a step. */
struct report_step {
	const struct script_step *step; /* borrowed; NULL: the start */
	int64_t time_ms;
	uint32_t proxies; /* of the newest table, without inactive ones */
	unsigned row_hops; /* of the newest table */
	uint32_t moved_rows; /* with another first hop than in the table before */
	double imbalance; /* of the newest table, as `show` prints it */
	struct flows_totals totals; /* until now */
	struct flows_measure now;
};

struct report {
	const char *script; /* name of the file; borrowed */
	size_t count;
	struct report_step *steps; /* the start, and each step of the script; owned */
};

void report_free(struct report *report);

/* Returns the broken connections in percent of all that there were. */
double report_broken_percent(const struct report *report);

/* Print the report. They return COMMAND_OK or COMMAND_FAILED. */
int report_print(const struct report *report);
int report_print_json(const struct report *report);
