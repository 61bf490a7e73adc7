/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps a new src from emptying the service by accident (table/table_guard.h). It does not know which tables have
 * traffic. One thread. */
#pragma once

#include "healthcheck/config/conf.h"
#include "table/table_guard.h"

/*
 * True: `new` may replace `old`; there may be warnings in `faults`. False: `faults` has errors, and `loss` says in one
 * line what would vanish and what confirms it.
 */
bool guard_allows(const struct table_set *old, const struct table_set *new, const struct conf *conf,
	struct faults *faults, char loss[TABLE_GUARD_TEXT_MAX]);

/* Reads dst, with which the first src is compared. The set is empty if there is no dst, or, with a warning in the log,
 * if it cannot be used. */
void guard_read_dst(const struct conf *conf, struct table_set *set);
