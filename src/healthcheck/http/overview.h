/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page for people: every backend and check, its last results, and what the daemon does with them, as HTML in
 * pieces. The words and the order of its columns are in overview.html. One thread.
 */
#ifndef GLB_HEALTHCHECK_HTTP_OVERVIEW_H
#define GLB_HEALTHCHECK_HTTP_OVERVIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "healthcheck/monitor/monitor.h"

/* A page that is being written. */
struct overview {
	const struct monitor *monitor;
	/* The list of this load of src; if it is loaded again, the page ends early and says so. */
	uint64_t loads;
	/* The page is about this table, with all its backends; -1: about all of them, with some backends of each. */
	int only;
	/* The part of the page to write next, and where in it. */
	unsigned part;
	uint32_t table, item;
	/* Checks that need a look: found so far, and written. */
	uint32_t odd, odd_shown;
};

/* Begins a page. `only` is the index of a table, or -1. False: there is no table with this index. */
bool overview_begin(struct overview *overview, const struct monitor *monitor, int only);

/* Writes the next part. Returns false after the last one. */
bool overview_write(struct overview *overview, FILE *to);

#endif
