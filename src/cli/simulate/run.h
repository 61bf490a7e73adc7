/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a script: changes the world, builds each table, and follows the connections. One thread, besides those of
 * table_build(). */
#pragma once

#include "cli/simulate/report.h"

/*
 * Runs the script on the table, and fills the report, which the caller frees in either case. Errors of the script are
 * found before the first table is built, but for waits that never end. Returns true; or false, and faults has errors.
 */
bool run_script(const struct script *script, const struct table *first, bool history, struct report *report,
	struct faults *faults);
