/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page for people: health, tables, drops, lcores, ports, next hops and reloads, as HTML in pieces. The words and
 * the order of its columns are in page.html and tables.html. It reads what telemetry reads, and takes rates from the
 * history. reload.lock is held for the time of one piece only. The HTTP thread calls all functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "director/page/history.h"

/* A page that is being written. */
struct page {
	const struct director *director;
	const struct history *history;
	/* The state when the page began. If the table in use is replaced, the page ends early and says so. */
	struct view *view; /* owned by the caller of page_begin() */
	const struct live_table *live; /* only while reload.lock is held */
	/* The page is about the table with this index and all its backends; -1: about all tables, with some backends of
	 * each. */
	int only;
	/* The revision in etcd of the table in use; 0: not known; -1: no glb-fleet has run on this host. */
	int64_t revision;
	/* The part of the page to write next; in write_tables() the step, the table, and the backend or bind. */
	unsigned part, step;
	uint32_t table, item;
	/* The number of rows of the current table of which each backend is the first hop. */
	uint32_t first_hops[TABLE_MAX_BACKENDS];
};

/* Rates of a counter for a page, per second. */
struct rates {
	/* The newest one; NAN: not known yet. */
	double now;
	unsigned count;
	float rates[SERIES_SAMPLES];
	/* What the counter has counted since the start. */
	uint64_t total;
};

/* Begins a page. `only` is the index of a table, or -1. False: there is no table with this index, or out of memory. */
bool page_begin(struct page *page, struct director *director, const struct history *history, int only);

/* Writes the next piece. Returns false after the last one. */
bool page_write(struct page *page, FILE *to);

/* The rest is for page*.c. */

/* Writes the next piece about tables. reload.lock is held. Returns false after the last one. */
bool page_write_tables(struct page *page, FILE *to);

/* Copies the rates of a counter. */
struct rates page_rates(const struct page *page, const struct series *series, uint64_t total);
