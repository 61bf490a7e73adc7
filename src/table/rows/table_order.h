/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The natural order of every row (docs/reference/table-rows.md#natural-order) for several sets of backends at once:
 * those of a table and those of its previous states. Each row has a sorted list of its best contenders. Whoever needs
 * more than the list has gets it, too, but slowly. The owner of an order calls the functions; table_order_fill() may
 * run in several threads for different rows, and table_order_next() in any thread after that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"
#include "table/rows/table_weight.h"

/* The sets: 0 and those up to TABLE_MAX_PAST can be matched in the table and in its previous states. */
enum table_order_set {
	TABLE_ORDER_PAST = 1, /* the newest previous state; older ones follow */
	TABLE_ORDER_SERVING = TABLE_ORDER_PAST + TABLE_MAX_PAST, /* can be hops: they are not inactive */
	TABLE_ORDER_HEALTHY, /* of these, the healthy ones */
	TABLE_ORDER_PREFERRED, /* of those that can be hops, only the best ones can be first hops (table_rows.h) */
	TABLE_ORDER_SETS,
};

#define TABLE_ORDER_GONE UINT16_MAX /* the same as TABLE_MATCHES_NONE */

/* An address and a weight, which take part in the order of every row. */
struct table_contender {
	uint64_t word; /* as in struct table_candidate */
	uint64_t limit; /* the lists have only scores below this one */
	uint32_t sets; /* bit n: member of set n */
	uint32_t down; /* bit n: it is not healthy in previous state n */
	uint16_t weight;
	uint16_t backend; /* index in the table; TABLE_ORDER_GONE: no longer listed, or inactive */
};

/* A contender in the list of a row. */
struct table_order_entry {
	uint64_t score;
	uint32_t contender;
	uint32_t sets; /* those for which the list has no gap before this entry */
};

/* The lists have all members of these sets with keys below this one. */
struct table_order_bound {
	uint64_t key;
	uint32_t sets;
};

struct table_order {
	const uint8_t *seed; /* of the table, borrowed */
	struct table_contender *contenders; /* equal scores keep this order */
	uint32_t contender_count;
	unsigned end; /* the states up to, but without, this one are included */
	struct table_order_bound bounds[TABLE_ORDER_SETS + 1]; /* ascending; none has the key UINT64_MAX */
	uint32_t stride; /* entries for each row */
	struct table_order_entry *entries; /* [row * stride] */
	uint16_t *counts; /* [row]: entries that are used */
};

/* Where a walk through the members of a set in a row is. Zero: at the start. */
struct table_order_cursor {
	uint32_t at; /* the next entry of the row's list */
	uint32_t passed; /* 1 + the last contender; 0: none yet */
};

/*
 * Collects the contenders of states of a table: `first`, and as many of the next ones as fit. The sets SERVING and
 * PREFERRED belong to state 0. Returns 0 or -ENOMEM; the caller calls table_order_close() in either case.
 */
int table_order_open(struct table_order *order, const struct table *table, unsigned first);
void table_order_close(struct table_order *order);

/* Makes the lists of the rows from `first` up to, but without, `end`. Both are multiples of TABLE_ROWS_BLOCK. */
void table_order_fill(const struct table_order *order, uint32_t first, uint32_t end);

/* Finds the next member of the set in the row's natural order. Returns false if there is none. */
bool table_order_next(const struct table_order *order, uint32_t row, unsigned set, struct table_order_cursor *cursor,
	struct table_order_entry *entry);

/* Returns the first member of the set of a state in the row's natural order, in a previous state the first one that was
 * healthy there; UINT32_MAX: there is none. */
uint32_t table_order_first_up(const struct table_order *order, uint32_t row, unsigned set);
