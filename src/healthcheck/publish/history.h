/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remembers who was the first hop before health moved first hops: the state that a write replaces goes into `previous`
 * of the table, marked as by_health. Only for tables whose src has `balance` or `previous`; the others have no holders
 * (docs/reference/table-rows.md#holders). Allocates memory; one thread.
 */
#pragma once

#include "table/file/table_document.h"
#include "table/table_past.h"

/* A table of dst, and its recorded states. */
struct history_table {
	char *name; /* NULL: it has none, so that its place tells which one it is */
	uint64_t binds; /* table_binds_digest(), which tells a table that was renamed */
	uint8_t seed[SIPHASH_KEY_SIZE];
	uint8_t family; /* of its backends */
	struct table_past state; /* sorted */
	uint32_t count;
	struct table_past recorded[TABLE_MAX_PAST]; /* those that are by_health, newest first; sorted */
};

/* All zeros: nothing is known of dst. */
struct history {
	struct history_table *tables; /* those of dst, in its order; a table without holders has no state */
	uint32_t count;
};

void history_free(struct history *history);

/* Reads dst. If it is no valid table, the history stays as it is. */
void history_read(struct history *history, const char *text, size_t size);

/*
 * Adds the recorded states to the text of the document, whose backends have their new health: the caller frees the
 * result. The text is the same if nothing is recorded. Drops recorded states that are older than keep_s, if the state
 * changes; 0: none are recorded. Recorded states of the future get the time `now`. Records nothing if the text gets too
 * large to be loaded. Sets *next to what dst then has. NULL: out of memory; *next is then empty.
 */
char *history_add(struct history *history, const struct table_document *document, int64_t now, uint32_t keep_s,
	char *text, size_t *size, struct history *next);
