/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The metrics of docs/reference/metrics.md, written in pieces. A page is about one forwarding table: if the table is
 * replaced meanwhile, the page is aborted. All but tables, binds and backends is read once, when the page begins. For
 * these reload.lock is held for the time of one item only, so that even a page about thousands of binds delays a reload
 * by microseconds.
 */
#pragma once

#include "director/view/view.h"
#include "program/http/http_server.h"
#include "program/openmetrics.h"

struct history;

/* The context of the server. */
struct metrics_context {
	struct director *director;
	struct history *history; /* NULL: out of memory */
};

extern const struct http_route metrics_routes[];

/* A page that is being written. */
struct metrics {
	struct openmetrics to;
	struct view *view; /* owned by the caller of metrics_begin() */
	/* Where the page goes on: a part, in it a family, and for that an item of a table. */
	unsigned part, family;
	uint32_t table, item;
};

/* Begins a page. `to` has its format and prefix, but no file yet. False: out of memory. */
bool metrics_begin(struct metrics *metrics, struct director *director, const struct openmetrics *to);

/* Writes the next piece. */
enum http_more metrics_step(struct metrics *metrics);

/* The rest is for metrics*.c. */

struct metrics_part {
	/* Writes several families. Parts with it have no other members. */
	void (*all)(struct openmetrics *to, const struct view *view);
	/* A family for each metric. */
	const struct fact *facts;
	/* Writes a family that has begun. */
	void (*family)(struct openmetrics *to, const struct view *view, const struct fact *fact);
	/* Without family(): writes the sample of an item of a table. reload.lock is held. */
	void (*item)(struct openmetrics *to, const struct live_table *live, const struct fact *fact, uint32_t table,
		uint32_t item);
	/* Returns how many items a table has. NULL: the item is the table. */
	uint32_t (*count)(const struct table *table);
};

#define METRICS_PARTS 10
extern const struct metrics_part metrics_parts[METRICS_PARTS];
