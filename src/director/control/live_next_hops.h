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

/*
 * Goes on with the look-up of nexthop_prepare(). Returns whether each next hop of all backends is known or does not
 * reply. The caller calls it again until then, or gives up.
 */
bool live_next_hops_settle(struct director *director);
