/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills the rows of a table with `balance` or `previous`, for table_build(). Any thread. */
#ifndef GLB_TABLE_TABLE_BUILD_MATCHED_H
#define GLB_TABLE_TABLE_BUILD_MATCHED_H

#include "table/table.h"

/* Writes TABLE_ROWS rows of `row_hops` hops; at least one backend is not inactive. Returns 0 or -ENOMEM. */
int table_build_matched(const struct table *table, unsigned row_hops, uint16_t *rows);

#endif
