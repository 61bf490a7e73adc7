/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares an old and a new table set, to show which live connections move or break. docs/reference/cli.md defines the
 * counts. Allocates memory, and prints progress. The sets are borrowed and must outlive the result.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/diff/bind_diff.h"
#include "table/table.h"
#include "cli/diff/holders.h"

/* Why a row breaks. If several proxies of a row lose connections, the first cause counts. */
enum table_diff_cause {
	TABLE_DIFF_UNMATCHED, /* no table of the new set matches the packets */
	TABLE_DIFF_HASH_KEY,
	TABLE_DIFF_REMOVED, /* the proxy is not in the new table, or inactive */
	TABLE_DIFF_PUSHED_OUT, /* other proxies have the hops of the row */
	TABLE_DIFF_CAUSES,
};

struct table_diff_backend {
	struct netaddr addr;
	const struct table_backend *before, *after; /* NULL: not in that table; borrowed */
	uint32_t first_before, first_after; /* number of rows whose first hop is this backend */
	uint32_t gained, lost; /* number of rows whose first hop becomes this backend, or no longer is */
	/* Number of rows in which it may hold connections, and in which they break if the binds stay. */
	uint32_t held, broken;
	/* Number of rows that still reach this draining or unhealthy backend as a later hop, and do not in the new
	 * table. */
	uint32_t still_reached;
};

/* A table in the old set and the table in the new set that replaces it. */
struct table_diff {
	const struct table *before, *after; /* borrowed; one is NULL if the table was added or removed */
	uint32_t old_index, new_index; /* in the sets; only valid if that table is not NULL */
	const struct bind_fate *old_fates, *new_fates; /* of the binds of both tables; borrowed */
	bool key_changed;
	bool seed_known; /* the rows' natural order is known, so `still_reached` is exact, else an upper bound */
	uint32_t rows; /* TABLE_ROWS; 0 if no packet can match the old table */
	/* Numbers of rows whose first hop changes, and whose connections break. They are means over the old binds,
	 * rounded up. */
	uint32_t changed, broken, causes[TABLE_DIFF_CAUSES];
	/* Number of rows whose new connections do not reach their proxy through a director that still has the old
	 * table. */
	uint32_t skew;
	uint32_t at_risk; /* number of rows that lose a later hop, but do not break if the binds stay */
	/* Number of the old UDP binds that get packets, without those whose QUIC connections keep their proxy. */
	uint32_t udp_binds;
	/* The mean of the rows that change over these binds, rounded up. With --udp first-hop, glb-redirect keeps UDP
	 * at the first hop. */
	uint32_t udp_moved;
	uint32_t backend_count;
	struct table_diff_backend *backends; /* sorted by address; owned */
};

struct table_set_diff {
	uint32_t count;
	struct table_diff *tables; /* in the order of the new set, then the removed tables */
	const struct table_diff *only; /* the table that the user wants to see; NULL: all */
	uint32_t rows, changed, broken, causes[TABLE_DIFF_CAUSES], skew, at_risk,
		udp_moved; /* of all tables, or of the only one */
	struct bind_diff binds;
};

/*
 * Fills *diff. The caller frees it with table_set_diff_free().
 *
 * held, by old table: who holds connections. Its entries are empty afterwards, to save memory. An entry that is empty,
 * or NULL instead of the array, stands for everyone who may hold some by the old table alone. left, by new table,
 * empty: table_set_diff_follow() adds the connections that do not break. It leaves an entry empty if its table has not
 * changed since such an entry of `held`, and gets no bind of another table; `held` must then be an array. NULL: not
 * needed.
 */
void table_set_diff_create(struct table_set_diff *diff, const struct table_set *before, const struct table_set *after);
void table_set_diff_follow(struct table_set_diff *diff, const struct table_set *before, const struct table_set *after,
	struct holders *held, struct holders *left);

/* Builds the rows that a comparison of both sets needs. Tables that do not change get none, and so no numbers of rows
 * in the comparison, unless they get packets of other tables. Returns 0, or -errno. */
int table_set_diff_build(struct table_set *before, struct table_set *after, unsigned threads);

void table_set_diff_free(struct table_set_diff *diff);

/* Restricts *diff to the table with this name, or "#INDEX" in the new set. A removed table has its old name. Returns
 * false if there is none. */
bool table_set_diff_select(struct table_set_diff *diff, const char *text);

/* Returns the table's name in the new set, else in the old set, else NULL. table_diff_label(): else "#INDEX" in buf. */
const char *table_diff_name(const struct table_diff *table);
const char *table_diff_label(const struct table_diff *table, char buf[16]);

/* In percent; 0 if `whole` is 0. */
static inline double table_diff_percent(uint32_t part, uint32_t whole)
{
	return whole ? 100.0 * part / whole : 0.0;
}
