/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The metrics of docs/reference/metrics.md, written in pieces. A page is about one forwarding table: if the table is
 * replaced meanwhile, the page is aborted. reload.lock is held for the time of one item only, so that even a page about
 * thousands of binds delays a reload by microseconds.
 */
#ifndef GLB_DIRECTOR_HTTP_METRICS_H
#define GLB_DIRECTOR_HTTP_METRICS_H

#include "director/director.h"
#include "program/http/http_server.h"
#include "program/openmetrics.h"
#include "worker/counters.h"

/* The context of the server is the struct director. */
extern const struct http_route metrics_routes[];

/* A page that is being written. */
struct metrics {
	struct openmetrics to;
	struct director *director;
	/* The generation of the table that the page is about, and the sum of all counters at the start of the page. */
	uint64_t generation;
	struct counters sum;
	/* Where the page goes on: a section, and in it an item. */
	unsigned section;
	uint32_t table, item;
	/* Counters of a port are missing, because it is being reset; they will be back. */
	bool left_out;
};

/* Begins a page. `to` has its format and prefix, but no file yet. */
void metrics_begin(struct metrics *metrics, struct director *director, const struct openmetrics *to);

/* Writes the next item. */
enum http_more metrics_step(struct metrics *metrics);

/* The rest is for metrics*.c. */

/* What a section lists. */
enum metrics_over {
	/* Nothing: print() is called once. */
	METRICS_ONCE,
	METRICS_TABLES,
	METRICS_BINDS,
	METRICS_BACKENDS,
	METRICS_LAST_LOCKED = METRICS_BACKENDS,
	/* Ports that the director uses; `item` is an index in director->ports. */
	METRICS_PORTS,
	/* `item` is an index in director->workers. */
	METRICS_LCORES,
	/* Sets of next hops. */
	METRICS_NEXT_HOPS,
	METRICS_END,
};

struct metrics_section {
	enum metrics_over over;
	/* The family of all items. Without a name print() writes the families itself. */
	const char *name;
	enum openmetrics_type type;
	const char *help;
	/*
	 * `table` and `item`: what to write about; `item` is the bind or backend of the table. `live` is the table in
	 * use, and reload.lock is held. For ports, lcores and next hops it is not held, and `live` is NULL.
	 */
	void (*print)(struct metrics *metrics, const struct live_table *live, uint32_t table, uint32_t item);
};

/* Each ends with METRICS_END. */
extern const struct metrics_section metrics_program[], metrics_tables[], metrics_packets[], metrics_ports[],
	metrics_lcores[];

/* A number as the value of a label. */
struct metrics_label {
	char text[16];
};

struct metrics_label metrics_label(unsigned number);

#endif
