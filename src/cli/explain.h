/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a hop is where it is in its row (docs/reference/table-rows.md#hops). */
#ifndef GLB_CLI_EXPLAIN_H
#define GLB_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/table.h"

#define EXPLAIN_MAX 160

/*
 * The reason for hop `position` of `row`; returns buf. has_seed: the table came from JSON, so the
 * natural order can be computed; binary tables only have the outcome.
 */
const char *explain_hop(const struct table *table, uint16_t row, unsigned position, bool has_seed, char buf[EXPLAIN_MAX]);

#endif
