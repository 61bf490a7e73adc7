/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells which tables get the packets of each bind after a new table set has replaced an old one. Allocates memory, and
 * prints progress. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"
#include "table/table_mask.h"

/*
 * The tables of the other set that get the packets of a bind. These are the packets for which the bind is the first
 * match in its own set. If earlier binds get all packets of a bind, both members are zero.
 */
struct bind_fate {
	struct table_mask tables; /* of the other set: those that match at least one of the packets */
	bool nowhere; /* no table of the other set matches at least one of the packets */
};

struct bind_diff {
	/* The binds of the old set (0) and of the new set (1), by table, then by index; owned */
	struct bind_fate *fates[2];
};

/* Fills *diff. Takes O(n log n) for n binds of which few overlap. */
void bind_diff_create(struct bind_diff *diff, const struct table_set *before, const struct table_set *after);
void bind_diff_free(struct bind_diff *diff);
