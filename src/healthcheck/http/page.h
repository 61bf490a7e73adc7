/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pages of the HTTP server: / is HTML for people, /status is JSON, /metrics is for Prometheus. A page is written in
 * pieces, so that a page about 65 000 backends delays no check. docs/reference/healthcheck.md describes the pages. One
 * thread.
 */
#ifndef GLB_HEALTHCHECK_HTTP_PAGE_H
#define GLB_HEALTHCHECK_HTTP_PAGE_H

#include "healthcheck/monitor/monitor.h"
#include "program/http/http_server.h"
#include "program/openmetrics.h"

/* What a section of a page lists. */
enum page_over {
	/* Nothing: print() is called once. */
	PAGE_ONCE,
	PAGE_TABLES,
	/* After the backends of each table, print() is also called with `item` equal to their number. */
	PAGE_BACKENDS,
	PAGE_CHECKS,
};

struct page_section {
	enum page_over over;
	/*
	 * `item` is the index of the backend in its table, or of the check. to->to is the file to write to; the rest of
	 * *to is for pages of metrics.
	 */
	void (*print)(struct openmetrics *to, const struct monitor *monitor, uint32_t table, uint32_t item);
};

/* Arrays that end with a section without print(). */
extern const struct page_section page_status[], page_metrics[];

/* All pages. The context of the server is a struct monitor. */
extern const struct http_route page_routes[];

#endif
