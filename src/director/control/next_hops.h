/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives the workers their next hops: the configured MAC, or what director/nexthop finds. Control thread, or the main thread before
 * that runs.
 */
#ifndef GLB_DIRECTOR_CONTROL_NEXT_HOPS_H
#define GLB_DIRECTOR_CONTROL_NEXT_HOPS_H

#include "director/director.h"

/* Opens director->nexthop if the MAC is not configured, and gives the first table its next hops. 0, or -errno after logging why. */
int next_hops_open(struct director *director);
void next_hops_close(struct director *director);

/* Begins to look up the backends of a table that is not in use yet. */
void next_hops_prepare(struct director *director, const struct routes *routes);

/*
 * Goes on with the look-up. Returns whether the next hops of all backends are known, or do not reply. Called until then, or until the
 * caller gives up.
 */
bool next_hops_settle(struct director *director);

/* Forgets the backends that the table in use does not have. Called after next_hops_prepare() and the attempt to publish the table. */
void next_hops_follow(struct director *director);

#endif
