/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warnings about valid tables that probably do not do what their author wants. table_json calls table_lint() for JSON
 * tables, and `glb-director-cli check` for binary ones. The parser of binary tables does not call it, because the author
 * saw the warnings when the table was built.
 */
#ifndef GLB_TABLE_TABLE_LINT_H
#define GLB_TABLE_TABLE_LINT_H

#include "common/faults.h"
#include "table/table.h"

/* The most warnings of one kind about one table. A last one then counts the others. */
#define TABLE_LINT_MAX 10

/*
 * Adds an error for each backend with an IPv6 address. Hops in GUE are IPv4, so the director refuses a table with an IPv6
 * backend. Version 2 files of GLB may have one.
 */
void table_lint_hops(const struct table_set *set, struct faults *faults);

/*
 * Adds the warnings. If faults->strict is set, each IPv6 backend is an error; otherwise there is one warning per table.
 * Skips what table_json could not read: names that are NULL, and addresses without a family.
 */
void table_lint(const struct table_set *set, struct faults *faults);

#endif
