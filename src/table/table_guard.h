/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard compares the tables in use with the tables that shall replace them, so that nobody empties a service by
 * accident. It finds tables, binds, VIPs and backends that would vanish. Pure, thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/faults.h"
#include "table/table.h"

#define TABLE_GUARD_MAX_SHRINK 50 /* default of max_shrink, in percent */
#define TABLE_GUARD_OFF        100 /* value of max_shrink that permits every loss of backends */
#define TABLE_GUARD_TEXT_MAX   512

struct table_guard {
	const struct table_set *old, *new;
	unsigned max_shrink; /* percent of a table's usable backends that may vanish */
	const bool *busy; /* for each old table: a lost VIP is an error, not only a warning; NULL: for no table */
	bool forced; /* somebody has confirmed every loss */
	const char *command; /* how to confirm it without a change of the table; NULL: there is no way */
};

/* A guard that calls each loss an error that some director might call one. */
struct table_guard table_guard_strict(const struct table_set *old, const struct table_set *new, unsigned max_shrink);

/*
 * Sets may have rows or not. A backend is usable if it is not inactive and, in a table with rows, in one of them.
 *
 * Adds an error for each loss that needs a confirmation, and warnings for others. If the operator has confirmed this
 * change (`forced`, or `replaces` of the new set), the errors are warnings, too. Also warns if the new set has no
 * binds. Returns true if there is no error, so that the new set may be used.
 */
bool table_guard_allows(const struct table_guard *guard, struct faults *faults);

/* Writes a refusal in one line: the first error in faults, the number of others, and how to confirm the change. Returns
 * buf. */
const char *table_guard_refusal(
	const struct table_guard *guard, const struct faults *faults, char buf[TABLE_GUARD_TEXT_MAX]);
