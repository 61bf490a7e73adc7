/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warnings about tables that are valid and yet hardly what their author wants, wherever they came
 * from. table_json calls it, and `check` for binary tables; their reader does not, because their
 * author saw the warnings when they were built.
 */
#ifndef GLB_TABLE_TABLE_LINT_H
#define GLB_TABLE_TABLE_LINT_H

#include "common/faults.h"
#include "table/table.h"

/* Warnings of one kind about one table, before "and N more". */
#define TABLE_LINT_MAX 10

/*
 * Adds an error for each backend with an IPv6 address. Hops in GUE are IPv4, so the director refuses every table that has such a
 * backend; version 2 files of GLB may have one.
 */
void table_lint_hops(const struct table_set *set, struct faults *faults);

/*
 * Skips what table_json could not read: names that are NULL, addresses of no family. IPv6 backends are errors if faults->strict is
 * set; otherwise a warning for each table.
 */
void table_lint(const struct table_set *set, struct faults *faults);

#endif
