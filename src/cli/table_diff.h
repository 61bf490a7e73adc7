/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the rows of an old and a new table set, to show which live connections move or break. Pure,
 * but allocates memory.
 */
#ifndef GLB_CLI_TABLE_DIFF_H
#define GLB_CLI_TABLE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"

struct table_diff_backend {
	struct netaddr addr;
	const struct table_backend *before, *after; /* NULL: not in that table; borrowed */
	uint32_t first_before, first_after; /* number of rows whose first hop is this backend */
	uint32_t gained, lost; /* number of rows whose first hop becomes this backend, or no longer is */
};

/* A table in the old set and the table in the new set that replaces it. */
struct table_diff {
	const struct table *before, *after; /* borrowed; one is NULL if the table was added or removed */
	uint32_t index; /* in the new set; of a removed table in the old set */
	bool key_changed, binds_changed;
	uint32_t changed; /* number of rows whose first hop changes */
	/* Number of rows whose old first hop is not among the new hops; all rows if the hash key changed. */
	uint32_t broken;
	uint32_t backend_count;
	struct table_diff_backend *backends; /* sorted by address; owned */
};

/*
 * Compares diff->before and diff->after, and sets all members after `index`. Returns false if out of
 * memory.
 */
bool table_diff_compare(struct table_diff *diff);
void table_diff_free(struct table_diff *diff);

/*
 * Pairs the tables of both sets: by name if every table has a name that no other table of its file has,
 * else by index. Sets before, after and index of each pair in the order of the new set, then the
 * removed tables. pairs: room for before->count + after->count. Returns the number of pairs, on each of
 * which the caller calls table_diff_free().
 */
uint32_t table_diff_pair(const struct table_set *before, const struct table_set *after, struct table_diff *pairs);

#endif
