/* SPDX-License-Identifier: BSD-3-Clause */
/* The previous states of a world's table: what `edit` writes into the member `previous`. For world.c. */
#ifndef GLB_CLI_SIMULATE_WORLD_HISTORY_H
#define GLB_CLI_SIMULATE_WORLD_HISTORY_H

#include "cli/simulate/world.h"

/* Copies the previous states of the first table. Returns false if out of memory. */
bool world_history_create(struct world *world, const struct table *first);

/* Forgets all previous states. */
void world_history_forget(struct world *world);

/* Sets *state to the present one. Returns false if out of memory. */
bool world_history_take(const struct world *world, struct table_past *state);

/*
 * If the state differs from the present one, adds it, and drops those that are too old or say nothing more, as `edit`
 * does. Takes over state->backends. Returns false if out of memory.
 */
bool world_history_add(struct world *world, struct table_past *state, int64_t now_ms);

#endif
