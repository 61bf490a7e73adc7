/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns the verdicts of the checks into the member `healthy` of each backend. */
#pragma once

#include "healthcheck/core/checklist.h"
#include "program/facts.h"

/* What the checks say about the backends of one table. Inactive backends do not count, and neither do those without
 * checks that src has as unhealthy. */
struct verdicts {
	uint32_t backends, healthy;
	/* All backends count as healthy, because too few are. */
	bool panic;
	/* Unhealthy backends that get new connections only because of panic: active and filling ones. */
	uint32_t kept;
};

extern const struct fact verdicts_facts[];

/*
 * Sets `healthy` of every backend in the list's set, and verdicts[table] of every table. If less than
 * panic_threshold percent of a table's backends are healthy, the table is in panic: all its backends are set to
 * healthy, except for those without checks.
 */
void verdicts_apply(struct checklist *list, unsigned panic_threshold, struct verdicts verdicts[TABLE_MAX_TABLES]);
