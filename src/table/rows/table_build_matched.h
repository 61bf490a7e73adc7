/* SPDX-License-Identifier: BSD-3-Clause */
/* Matches the rows of a table with `balance` or `previous`, and fills them for table_build(). Any thread. */
#pragma once

#include "table/table.h"

#define TABLE_MATCHES_NONE UINT16_MAX

/* The matchings of a table and of its previous states. The owner calls table_matches_free(). */
struct table_matches {
	/*
	 * [0: the table; 1 and later: its previous states, newest first][row]: index of the holder of the row, or
	 * TABLE_MATCHES_NONE, if that is nobody who can be a hop now. It is the backend that is matched to the row, and
	 * in a previous state in which that was not healthy, the first healthy one in natural order. NULL: the state
	 * has no holders, or all those of a newer state.
	 */
	uint16_t *states[1 + TABLE_MAX_PAST];
};

/* Computes the matchings of a table from JSON; at least one backend is not inactive. Returns 0 or -ENOMEM. */
int table_matches_find(const struct table *table, struct table_matches *matches);
void table_matches_free(struct table_matches *matches);

/* Writes TABLE_ROWS rows of `row_hops` hops; at least one backend is not inactive. Returns 0 or -ENOMEM. */
int table_build_matched(const struct table *table, unsigned row_hops, uint16_t *rows);
