/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains the position of a hop in its row (docs/reference/table-rows.md#hops), and why no bind matches a flow. Pure,
 * but an explainer allocates memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/routes.h"
#include "packet/steering.h"
#include "table/rows/table_build_matched.h"
#include "table/table.h"
#include "table/rows/table_weight.h"

/* Returns the backend's rank in a row, by its weight if that is known. The natural order of the row is by rank. */
struct table_rank explain_rank(const uint8_t seed[SIPHASH_KEY_SIZE], uint16_t row, const struct table_backend *backend);

/* Knows the matchings of the tables of a set. The caller fills the first two members, and calls explainer_free(). */
struct explainer {
	const struct table_set *set; /* borrowed; its tables have rows */
	/* The tables were read from JSON, so they have the seed that determines the natural order. Without it there are
	 * no reasons. */
	bool has_seed;

	/* Private: [table], computed for tables that a hop is asked of; NULL before that. */
	struct table_matches *matches;
};

void explainer_free(struct explainer *explainer);

#define EXPLAIN_MAX 160

/* Writes the reason for the hop at `position` (from 0) of `row` of a table, and returns buf. */
const char *explain_hop(
	struct explainer *explainer, uint32_t table, uint16_t row, unsigned position, char buf[EXPLAIN_MAX]);

struct flow;

/* Returns why no bind matches the flow. */
const char *explain_unmatched(
	const struct flow *flow, const struct routes *routes, const struct steering_config *steering);
