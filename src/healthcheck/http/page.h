/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pages of the HTTP server: / is HTML for people, /status is JSON, /metrics is for Prometheus. A page is written in
 * pieces, so that a page about 65 000 backends delays no check. docs/reference/healthcheck.md describes the pages. One
 * thread.
 */
#pragma once

#include "healthcheck/monitor/monitor.h"
#include "program/http/http_server.h"
#include "program/openmetrics.h"

/* Backends, checks or tables that one piece is about. */
#define PAGE_AT_ONCE 8

struct page;

/* Writes the next piece of a part of the page. Returns false after the last piece of the part. */
typedef bool page_part(struct page *page);

/* A page that is being written. */
struct page {
	const struct monitor *monitor;
	/* The list of this load of src; if it is loaded again, the page ends early. */
	uint64_t loads;
	/* The part to write next, of those that end with NULL. */
	page_part *const *part;
	/* Where in the part. */
	uint32_t table, item;
	const struct fact *fact;
	/* The file is that of the page. The rest is for /metrics. */
	struct openmetrics to;
	/* Only for HTML: the table that the page is about, with all its backends; -1: about all of them, with some
	 * backends of each. */
	int only;
	/* Checks that need a look: found so far, and written. */
	uint32_t odd, odd_shown;
};

/* metrics.c, status.c, overview.c */
extern page_part *const page_metrics[], *const page_status[], *const page_overview[];

/* All pages. The context of the server is a struct monitor. */
extern const struct http_route page_routes[];
