/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps a reload from emptying the service by accident (table/table_guard.h). It knows which tables have traffic.
 * Threads: as reload.h says, except reload_guard_sample().
 */
#pragma once

#include <stdbool.h>

#include "director/reload/reload.h"

/*
 * Notes which tables have forwarded packets since the last call. The control thread calls it at each tick, also during
 * a reload. It goes on where it stopped, and stops after tables with this number of backends, because it adds up what
 * they counted. Returns the number of tables.
 */
uint32_t reload_guard_sample(struct reload *reload, uint32_t backends);

/* For reload_guard_sample(): few enough to hold reload->lock meanwhile. */
#define RELOAD_GUARD_BACKENDS 65536

/*
 * True: `new` may replace the tables in use; there may be warnings in faults. False: faults has errors, and refusal
 * says in one line what would vanish and what confirms it. `force` makes the errors warnings.
 */
bool reload_guard_allows(struct reload *reload, const struct table_set *new, bool force, struct faults *faults,
	char refusal[RELOAD_ERROR_SIZE]);

/* Adds a warning if the first tables forward nothing. */
void reload_guard_first(const struct table_set *first, struct faults *faults);
