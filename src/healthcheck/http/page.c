/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/http/page.h"

#include "healthcheck/http/overview.h"
#include "program/html/html.h"

struct page {
	const struct monitor *monitor;
	/* The list of this load. */
	uint64_t loads;
	const struct page_section *section;
	struct openmetrics metrics;
	uint32_t table, item;
};

static bool begin(struct page *page, const struct monitor *monitor, const struct page_section *sections,
	enum openmetrics_format format)
{
	*page = (struct page){
		.monitor = monitor,
		.loads = monitor->counters.loads,
		.section = sections,
		.metrics = {.format = format, .prefix = "glb_healthcheck_"},
	};
	return true;
}

static bool begin_status(void *page, void *monitor)
{
	return begin(page, monitor, page_status, OPENMETRICS_1_0);
}

static bool begin_metrics(void *page, void *monitor)
{
	return begin(page, monitor, page_metrics, OPENMETRICS_1_0);
}

static bool begin_legacy_metrics(void *page, void *monitor)
{
	return begin(page, monitor, page_metrics, OPENMETRICS_LEGACY);
}

/* Prints one item and steps to the next one. */
static void step(struct page *page)
{
	const struct table_set *set = &page->monitor->list.document.set;
	const struct page_section *section = page->section;
	bool end = true;

	switch (section->over) {
	case PAGE_ONCE:
		section->print(&page->metrics, page->monitor, 0, 0);
		break;
	case PAGE_TABLES:
	case PAGE_BACKENDS:
		end = page->table >= set->count;
		if (end)
			break;
		section->print(&page->metrics, page->monitor, page->table, page->item);
		if (section->over == PAGE_TABLES || page->item++ == set->tables[page->table].backend_count) {
			page->item = 0;
			page->table++;
		}
		break;
	case PAGE_CHECKS:
		end = page->item >= page->monitor->list.check_count;
		if (!end)
			section->print(&page->metrics, page->monitor, 0, page->item++);
		break;
	}
	if (!end)
		return;
	page->section++;
	page->table = page->item = 0;
}

static enum http_more write_step(void *state, FILE *to)
{
	struct page *page = state;

	if (page->loads != page->monitor->counters.loads)
		return HTTP_ABORT;
	page->metrics.to = to;
	step(page);
	return page->section->print ? HTTP_MORE : HTTP_END;
}

static bool begin_overview(void *overview, void *monitor)
{
	return overview_begin(overview, monitor, -1);
}

static bool begin_table(void *overview, void *monitor, uint32_t table)
{
	return table <= INT32_MAX && overview_begin(overview, monitor, (int)table);
}

static enum http_more write_overview(void *overview, FILE *to)
{
	return overview_write(overview, to) ? HTTP_MORE : HTTP_END;
}

#define HTML                                                                                              \
	.type = "text/html; charset=utf-8", .policy = html_policy, .state_size = sizeof(struct overview), \
	.write = write_overview
#define JSON  "application/json"
#define STATE .state_size = sizeof(struct page), .write = write_step

const struct http_route page_routes[] = {
	{.path = "/", HTML, .begin = begin_overview},
	{.path = "/tables/#", HTML, .begin_numbered = begin_table},
	{.path = "/status", .type = JSON, .begin = begin_status, STATE},
	{.path = "/metrics", .accept = OPENMETRICS_MEDIA, .type = OPENMETRICS_TYPE, .begin = begin_metrics, STATE},
	{.path = "/metrics", .type = OPENMETRICS_TYPE_LEGACY, .begin = begin_legacy_metrics, STATE},
	{0},
};
