/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the counters of a director for people, from snapshots (see snapshot.h). The snapshots are borrowed. Only this
 * folder's stats.c uses it. One thread. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

struct stats_view {
	const json_t *now; /* the snapshot to print, with all parts */
	const json_t *before; /* an earlier snapshot of the same process, for rates; NULL: there is none */
	double seconds; /* between the two */
	bool rates; /* print a column with rates */
	bool all; /* also what is zero, and each lcore */
};

void stats_view_print(const struct stats_view *view);

/* Returns whether the director has started again since `before`: its process differs, or uptime or counters
 * went back. */
bool stats_view_restarted(const json_t *before, const json_t *now);
