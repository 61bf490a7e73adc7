/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains the position of a hop in its row (docs/reference/table-rows.md#hops), and why no bind matches a flow. Pure. */
#ifndef GLB_CLI_EXPLAIN_H
#define GLB_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/routes.h"
#include "packet/steering.h"
#include "table/table.h"
#include "table/table_weight.h"

/* Returns the backend's rank in a row, by its weight if that is known. The natural order of the row is by rank. */
struct table_rank explain_rank(const uint8_t seed[SIPHASH_KEY_SIZE], uint16_t row, const struct table_backend *backend);

#define EXPLAIN_MAX 160

/*
 * Writes the reason for the hop at `position` (from 0) of `row`, and returns buf. has_seed: the table
 * was read from JSON, so it has the seed that determines the natural order. Without it the text has no
 * reason.
 */
const char *explain_hop(const struct table *table, uint16_t row, unsigned position, bool has_seed, char buf[EXPLAIN_MAX]);

struct flow;

/* Returns why no bind matches the flow. */
const char *explain_unmatched(
	const struct flow *flow, const struct routes *routes, const struct steering_config *steering);

#endif
