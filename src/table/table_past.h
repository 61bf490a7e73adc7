/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Previous states of a table (docs/reference/table-json.md#previous-states): which one a change adds, and which ones it
 * drops. Pure, but allocates memory. Any thread.
 */
#pragma once

#include "table/table.h"

/*
 * Makes the present state of a table, sorted by address and without a time: its active and filling backends, with their
 * health, or as if all were healthy. It has none if none is healthy. The caller frees state->backends. False: out of
 * memory.
 */
bool table_past_of(const struct table *table, bool with_health, struct table_past *state);

/* Sorts the backends of a state by their addresses. */
void table_past_sort(struct table_past *state);

/* Returns whether both states name the same first hops, whatever their times are. `sorted` is sorted; the
 * other one may have any order. */
bool table_past_is_same(const struct table_past *sorted, const struct table_past *other);

/* What becomes of a previous state when the table changes: it is kept, or it goes for one of these reasons. */
enum table_past_fate {
	TABLE_PAST_KEPT,
	TABLE_PAST_REPEATED, /* the same as a newer one, or as the present state: the rows name its proxies anyway */
	TABLE_PAST_OLD,
	TABLE_PAST_CROWDED, /* there is no room, and it adds least for its age */
};

/* A change of the state of a table. */
struct table_past_change {
	const struct table *table; /* after the change; proxies that are healthy in it and not inactive are alive */
	const struct table_past *before, *now; /* sorted; the first one becomes the newest previous state */
	int64_t time; /* now; Unix seconds */
	uint32_t keep_s; /* greatest age of a state; 0: none is kept */
};

/* Returns true if the state is older than keep_s. One of the future is not: a clock is or was wrong. */
bool table_past_is_old(const struct table_past *past, int64_t time, uint32_t keep_s);

/* Sets fates[i] for each of `count` states, newest first. With change->before, at most TABLE_MAX_PAST are left. */
void table_past_choose(const struct table_past_change *change, const struct table_past *const *states, uint32_t count,
	enum table_past_fate *fates);
