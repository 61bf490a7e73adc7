/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/http/page.h"

#include "program/html/html.h"

static bool begin(struct page *page, struct monitor *monitor, page_part *const *parts)
{
	monitor_look(monitor);
	*page = (struct page){.monitor = monitor, .loads = monitor->counters.loads, .part = parts, .only = -1};
	return true;
}

static bool begin_status(void *page, void *monitor, uint32_t)
{
	return begin(page, monitor, page_status);
}

static bool begin_metrics(void *state, void *monitor, uint32_t format)
{
	struct page *page = state;

	begin(page, monitor, page_metrics);
	page->to = (struct openmetrics){.format = format, .prefix = "glb_healthcheck_"};
	return true;
}

static bool begin_overview(void *state, void *monitor, uint32_t table)
{
	struct page *page = state;

	begin(page, monitor, page_overview);
	page->only = table == HTTP_NO_NUMBER ? -1 : (int)table;
	return table == HTTP_NO_NUMBER || table < page->monitor->list.document.set.count;
}

static bool is_old(const struct page *page)
{
	return page->loads != page->monitor->counters.loads;
}

static enum http_more write_part(struct page *page, FILE *to)
{
	page->to.to = to;
	if (!(*page->part)(page)) {
		page->part++;
		page->table = page->item = 0;
		page->fact = NULL;
	}
	return *page->part ? HTTP_MORE : HTTP_END;
}

static enum http_more write_page(void *page, FILE *to)
{
	return is_old(page) ? HTTP_ABORT : write_part(page, to);
}

/* The first part is what every page begins with. */
static enum http_more write_overview(void *state, FILE *to)
{
	const struct page *page = state;

	if (page->part == page_overview || !is_old(page))
		return write_part(state, to);
	html_changed(to);
	return HTTP_END;
}

#define HTML                                                                                          \
	.type = "text/html; charset=utf-8", .policy = html_policy, .state_size = sizeof(struct page), \
	.write = write_overview
#define JSON  "application/json"
#define STATE .state_size = sizeof(struct page), .write = write_page

const struct http_route page_routes[] = {
	{.path = "/", HTML, .begin = begin_overview, .number = HTTP_NO_NUMBER},
	{.path = "/tables/#", HTML, .begin = begin_overview},
	{.path = "/status", .type = JSON, .begin = begin_status, STATE},
	{.path = "/metrics", .accept = OPENMETRICS_MEDIA, .type = OPENMETRICS_TYPE, .begin = begin_metrics, STATE},
	{.path = "/metrics", .type = OPENMETRICS_TYPE_LEGACY, .begin = begin_metrics, .number = OPENMETRICS_LEGACY, STATE},
	{0},
};
