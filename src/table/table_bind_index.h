/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which addresses, protocols and ports the binds of a set match, for table_guard. Pure. The caller owns the index and
 * calls table_bind_index_close(). The set must exist until then.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "table/table.h"
#include "table/table_mask.h"

struct table_bind_index_item;
struct table_bind_index_range;

struct table_bind_index {
	size_t count;
	struct table_bind_index_item *items; /* the binds of all tables, sorted */
	size_t range_count;
	struct table_bind_index_range *ranges; /* the addresses of all binds, sorted and disjoint */
	uint8_t lengths[3][129]; /* by family: 1 if a bind has a prefix of this length */
};

/* 0, or -ENOMEM and there is nothing to close. Takes O(n log n) for n binds. */
int table_bind_index_open(struct table_bind_index *index, const struct table_set *set);
void table_bind_index_close(struct table_bind_index *index);

enum table_cover {
	TABLE_COVER_NONE,
	TABLE_COVER_PART,
	TABLE_COVER_ALL,
};

/* Tells how many of the prefix's addresses the binds have, for any protocol and port. */
enum table_cover table_bind_index_cover(const struct table_bind_index *index, const struct netprefix *prefix);

#define TABLE_BIND_INDEX_LOOKS 65536 /* for all binds of a table */

/*
 * Adds to `tables` those that have an equal bind, or, if there is none, those with a bind that matches a packet of
 * `bind`. For the latter it looks at no more than *looks binds, and subtracts their number, so that a caller can bound
 * the time for many binds.
 */
void table_bind_index_tables(const struct table_bind_index *index, const struct table_bind *bind, uint32_t *looks,
	struct table_mask *tables);
