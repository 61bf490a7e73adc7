/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the tables of a set whose rows are the same, so that they are built, stored and checked once. Pure. A set has
 * at most TABLE_MAX_TABLES tables.
 */
#pragma once

#include "table/table.h"

/* Returns whether everything that decides about the rows of both tables is the same. */
bool table_same_rows_input(const struct table *a, const struct table *b);

/* Sets same[t], for each table t, to the first table with the same input. */
void table_share_inputs(const struct table_set *set, uint32_t same[TABLE_MAX_TABLES]);

/* Sets same[t], for each table t, to the first table with equal rows. All tables have rows. */
void table_share_rows(const struct table_set *set, uint32_t same[TABLE_MAX_TABLES]);

/* Keeps equal rows once. All tables have rows. */
void table_merge_rows(struct table_set *set);

/* Lets `table` use the rows of an earlier table of its set. The table has no rows of its own. */
static inline void table_borrow_rows(struct table *table, const struct table *from)
{
	table->rows = from->rows;
	table->row_hops = from->row_hops;
	table->borrows_rows = true;
}
