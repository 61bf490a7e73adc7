/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's state as text, in pieces: /status is JSON for people, /metrics OpenMetrics for Prometheus. A piece is written
 * when the client can take it, so that a page about 65 000 backends delays no check. docs/reference/healthcheck.md
 * describes both pages. One thread.
 */
#ifndef GLB_HEALTHCHECK_HTTP_PAGE_H
#define GLB_HEALTHCHECK_HTTP_PAGE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "healthcheck/monitor/monitor.h"

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
	/* `item` is the index of the backend in its table, or of the check. */
	void (*print)(FILE *to, const struct monitor *monitor, uint32_t table, uint32_t item);
};

/* Arrays that end with a section without print(). */
extern const struct page_section page_status[], page_metrics[];

struct page;

/* Returns NULL if out of memory. */
struct page *page_open(const struct monitor *monitor, const struct page_section *sections);

/*
 * Writes the next bytes of the page. Returns their number, 0 at the end, or -1 if out of memory, or if src was loaded
 * again since the page was opened.
 */
ssize_t page_read(struct page *page, char *to, size_t size);

void page_close(struct page *page);

#endif
