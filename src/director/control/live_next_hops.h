/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives the workers their next hops: the configured MAC, or those that director/nexthop finds. Control thread, or the
 * main thread before that runs.
 */
#pragma once

#include "director/director.h"

/*
 * Opens director->nexthop if the MAC is not configured, and gives the first table its next hops. 0, or -errno after
 * logging why.
 */
int live_next_hops_open(struct director *director);
void live_next_hops_close(struct director *director);

/* Begins to look up the backends of a table that is not in use yet. */
void live_next_hops_prepare(struct director *director, const struct routes *routes);

/*
 * Goes on with the look-up. Returns whether each next hop of all backends is known or does not reply. The caller calls
 * it again until then, or gives up.
 */
bool live_next_hops_settle(struct director *director);

/*
 * Forgets the backends that the table in use does not have. Called after live_next_hops_prepare() and the attempt to
 * publish the table.
 */
void live_next_hops_follow(struct director *director);
