/* SPDX-License-Identifier: BSD-3-Clause */
/* The member `previous` of tables as JSON text (docs/reference/table-json.md#previous-states). Pure, but allocates
 * memory. Any thread. */
#pragma once

#include "table/file/json/json_copy.h"
#include "table/file/json/json_edit.h"
#include "table/table.h"

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

/* Returns the state as JSON text, which the caller frees. NULL: out of memory. */
char *past_text(const struct table_past *state);

/* Copies the text up to the end of table t, as `write` changes it: that sets `previous` in the text of the table alone.
 * False: `write` has failed, or out of memory. */
bool past_copy_table(
	struct json_copy *copy, uint32_t t, bool (*write)(void *context, struct json_edit *table), void *context);
