/* SPDX-License-Identifier: BSD-3-Clause */
/* A state of a table for the member `previous` (docs/reference/table-json.md#previous-states). Thread-safe. */
#pragma once

#include "table/file/json/json_edit.h"
#include "table/table.h"

/* Makes the present state of a table, sorted by address and without a time: its active and filling backends, all or
 * those that are healthy. The caller frees state->backends. */
void past_of_table(const struct table *table, bool healthy_only, struct table_past *state);

/* Returns whether both states are the same, except for their times. The second one may have any order. */
bool past_is_same(const struct table_past *sorted, const struct table_past *other);

/* The next `previous` of a table. Starts zeroed. */
struct past_list {
	char *elements[TABLE_MAX_PAST + 2]; /* as JSON text; owned */
	size_t count;
	bool failed; /* out of memory */
};

/* Adds a state as JSON text, which the list owns. NULL: the list has failed. */
void past_list_add(struct past_list *list, char *element);

/* Makes the list the `previous` of the object, or removes that if the list is empty. Frees the elements. False: out of
 * memory. */
bool past_list_write(struct past_list *list, struct json_edit *edit, const char *object);

/* Returns the state as JSON text, which the caller frees. */
char *past_text(const struct table_past *state);
