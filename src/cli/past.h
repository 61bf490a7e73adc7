/* SPDX-License-Identifier: BSD-3-Clause */
/* A state of a table for the member `previous` (docs/reference/table-json.md#previous-states). Thread-safe. */
#ifndef GLB_CLI_PAST_H
#define GLB_CLI_PAST_H

#include "table/table.h"

/* Makes the present state of a table, sorted by address and without a time: its active and filling backends, all or
 * those that are healthy. The caller frees state->backends. */
void past_of_table(const struct table *table, bool healthy_only, struct table_past *state);

/* Returns whether both states are the same, except for their times. The second one may have any order. */
bool past_is_same(const struct table_past *sorted, const struct table_past *other);

/* Returns the state as JSON text, which the caller frees. */
char *past_text(const struct table_past *state);

#endif
