/* SPDX-License-Identifier: BSD-3-Clause */
/* A state of a table for the member `previous` (docs/reference/table-json.md#previous-states). Thread-safe. */
#ifndef GLB_CLI_PAST_H
#define GLB_CLI_PAST_H

#include "table/table.h"

/* Orders struct table_past_backend by address, for qsort() and bsearch(). */
int past_compare_backends(const void *a, const void *b);

/* Makes the present state of a table, sorted by address and without a time: its active and filling backends, all or
 * those that are healthy. False: out of memory. The caller frees state->backends in either case. */
bool past_of_table(const struct table *table, bool healthy_only, struct table_past *state);

/* Returns the state as JSON text, which the caller frees. NULL: out of memory. */
char *past_text(const struct table_past *state);

#endif
