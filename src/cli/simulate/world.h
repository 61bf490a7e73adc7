/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of a simulation, and the state of its proxies. Each change of a script gives a new table, as `edit` would
 * write it. A proxy has a number from 1, in the order of the first table, and other numbers have addresses from
 * 198.18.0.0/15 (RFC 2544). Allocates memory; one thread.
 */
#pragma once

#include "cli/simulate/script.h"
#include "table/table.h"

struct world {
	struct table table; /* the newest, without rows and binds; owned; its arrays have room for the limits */
	bool *dead; /* by backend; owned */
	bool history; /* changes remember the previous states */
	uint32_t numbered; /* numbers from 1 to this are the backends of the first table */
	struct netaddr *addrs; /* by number - 1; owned */
};

/* Copies what it needs of `first`. The caller frees it. */
void world_create(struct world *world, const struct table *first, bool history);
void world_free(struct world *world);

/* Sets the address of the proxy with this number. Returns false if a proxy of the first table has this address. */
bool world_addr(const struct world *world, uint32_t number, struct netaddr *addr);

/*
 * Sets selected[backend] for each of TABLE_MAX_BACKENDS: the step names it. A step that adds proxies adds them instead.
 * Returns false, with an error about the line in faults, if the step names a proxy that is not there.
 */
bool world_select(struct world *world, const struct script_step *step, bool *selected, struct faults *faults);

/*
 * Changes the table, unless the step is a wait. Returns false, with an error about the line in faults: the table may be
 * changed in part, and the simulation must end.
 */
bool world_change(struct world *world, const struct script_step *step, int64_t now_ms, struct faults *faults);
