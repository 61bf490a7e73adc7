/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What changes for the connections of a table when another takes its place. Tables are paired by
 * name where every table of both files has a name of its own, else by index. Pure but for memory.
 */
#ifndef GLB_CLI_TABLE_DIFF_H
#define GLB_CLI_TABLE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"

struct table_diff_backend {
	struct netaddr addr;
	const struct table_backend *before, *after; /* NULL: not in that table; borrowed */
	uint32_t first_before, first_after; /* rows whose first hop it is */
	uint32_t gained, lost; /* rows */
};

struct table_diff {
	const struct table *before, *after; /* borrowed; NULL: the table was added or removed */
	uint32_t index; /* in the new set, or in the old one where it was removed */
	bool key_changed, binds_changed;
	uint32_t changed; /* rows whose first hop is another backend */
	uint32_t broken; /* rows whose old first hop is not among the new hops; all where the hash
			     key changed */
	uint32_t backend_count;
	struct table_diff_backend *backends; /* by address; owned */
};

/* Compares the rows of *diff's before and after, of which one may be NULL, and fills the rest.
 * False: out of memory. */
bool table_diff_compare(struct table_diff *diff);
void table_diff_free(struct table_diff *diff);

/*
 * Fills pairs, of which there may be up to before->count + after->count, in the order of the new
 * set, then the removed ones; returns how many. The caller frees each.
 */
uint32_t table_diff_pair(const struct table_set *before, const struct table_set *after, struct table_diff *pairs);

#endif
