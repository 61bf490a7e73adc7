/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells who may hold connections by one table alone, without the tables before it. Starts threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/diff/holders.h"

/*
 * Returns the seed of the rows of `before`, or NULL. A binary table does not have it, but its JSON successor mostly
 * does; `after` may be NULL. In a binary table with balance or previous states, rows do not confirm a seed, so the
 * result is NULL, too.
 */
const uint8_t *first_holders_seed(const struct table *before, const struct table *after);

/*
 * Fills *holders: the first hop of each row; the later hops that are draining or unhealthy, which have connections from
 * the time when they were first; and the hops to which the row was matched in the previous states. If the seed is known
 * and the table has no balance, a draining or unhealthy hop must come before the first hop in natural order. Without
 * the seed, all later hops count that are in a previous state. The caller frees *holders.
 */
void first_holders_create(struct holders *holders, const struct table *table, const uint8_t *seed);
