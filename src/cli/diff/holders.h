/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which proxies hold connections of each row, while one table follows another, and which hops of a table reach them. A
 * connection begins at the first hop of a table that a director uses, and survives under each table whose row has its
 * proxy among the hops. The caller says which tables are in use, where connections begin and end, and what is lost.
 * Pure, but allocates memory. One thread may change it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"

/* Proxies have numbers from 0, in the order in which the caller first named them. A number stays valid. */
struct holders {
	uint32_t proxy_count;
	struct netaddr *proxies; /* by number; owned */
	uint32_t *by_address; /* the numbers, sorted by address; owned */
	uint32_t room; /* holders that each row has memory for; it grows for all rows at once */
	uint32_t *counts; /* by row: number of holders; owned */
	uint32_t *list; /* [row * room + i]: number of holder i of the row, in no order; owned */
};

/* Starts without proxies and without connections. The caller frees it. */
void holders_create(struct holders *holders);
void holders_free(struct holders *holders);

/* Returns the number of this address, which is a new one if nobody named it before. */
uint32_t holders_number(struct holders *holders, const struct netaddr *addr);

/* The proxy holds connections of a row. */
void holders_add(struct holders *holders, uint32_t row, uint32_t proxy);

/* Removes the proxy from all rows: it has failed, or its connections have ended. */
void holders_remove_proxy(struct holders *holders, uint32_t proxy);

/* The holders of a row, counts[row] in number. holders_add() moves them. */
static inline uint32_t *holders_of(const struct holders *holders, uint32_t row)
{
	return holders->list + (size_t)row * holders->room;
}

/* A table whose backends are proxies of a struct holders. */
struct holders_table {
	const struct table *table; /* with rows; borrowed */
	uint32_t *proxies; /* by backend: its number; owned */
	uint32_t known; /* number of proxies when this was opened */
	bool *listed; /* by number: the proxy is in the table and not inactive; owned */
};

/* Names all backends. The caller closes it. */
void holders_table_open(struct holders *holders, const struct table *table, struct holders_table *out);
void holders_table_close(struct holders_table *table);

/* Returns the proxy that gets the new connections of the row. */
static inline uint32_t holders_first(const struct holders_table *table, uint32_t row)
{
	return table->proxies[table->table->rows[(size_t)row * table->table->row_hops]];
}

enum holders_reach {
	HOLDERS_REACHED,
	HOLDERS_PUSHED_OUT, /* the proxy is in the table, but other proxies have the hops of the row */
	HOLDERS_GONE, /* the proxy is not in the table, or inactive */
};

/* Tells whether packets of the row reach the proxy. */
static inline enum holders_reach holders_reach(const struct holders_table *table, uint32_t row, uint32_t proxy)
{
	const uint16_t *hops = table->table->rows + (size_t)row * table->table->row_hops;

	for (unsigned i = 0; i < table->table->row_hops; i++)
		if (table->proxies[hops[i]] == proxy)
			return HOLDERS_REACHED;
	return proxy < table->known && table->listed[proxy] ? HOLDERS_PUSHED_OUT : HOLDERS_GONE;
}
