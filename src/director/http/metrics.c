/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/http/metrics.h"

#include "director/page/page.h"
#include "program/html/html.h"

bool metrics_begin(struct metrics *metrics, struct director *director, const struct openmetrics *to)
{
	*metrics = (struct metrics){.to = *to, .view = view_take(director, true)};
	return metrics->view;
}

/* Steps to the next family, or to the next part. */
static void advance(struct metrics *metrics, const struct metrics_part *part)
{
	if (part->facts && part->facts[++metrics->family].help)
		return;
	metrics->family = 0;
	metrics->part++;
}

/* Writes the sample of the current item, and steps to the next one. */
static void write_item(struct metrics *metrics, const struct metrics_part *part, const struct live_table *live)
{
	const struct table_set *set = &live->routes->set;
	uint32_t count = 0;

	if (metrics->table < set->count)
		count = part->count ? part->count(&set->tables[metrics->table]) : 1;
	if (metrics->item < count)
		part->item(&metrics->to, live, &part->facts[metrics->family], metrics->table, metrics->item);
	if (++metrics->item < count)
		return;
	metrics->item = 0;
	if (++metrics->table < set->count)
		return;
	metrics->table = 0;
	advance(metrics, part);
}

/* Returns false if another table is in use. */
static bool step_locked(struct metrics *metrics, const struct metrics_part *part)
{
	const struct live_table *live = reload_lock(metrics->view->reload);
	bool same = live->generation == metrics->view->routes.generation;

	if (same)
		write_item(metrics, part, live);
	reload_unlock(metrics->view->reload);
	return same;
}

enum http_more metrics_step(struct metrics *metrics)
{
	const struct metrics_part *part = &metrics_parts[metrics->part];
	const struct fact *fact;

	if (metrics->part == METRICS_PARTS) {
		openmetrics_end(&metrics->to);
		return HTTP_END;
	}
	fact = part->facts ? &part->facts[metrics->family] : NULL;
	if (!fact) {
		part->all(&metrics->to, metrics->view);
	} else if (fact->metric) {
		facts_family(&metrics->to, fact);
		if (part->item)
			return step_locked(metrics, part) ? HTTP_MORE : HTTP_ABORT;
		part->family(&metrics->to, metrics->view, fact);
	}
	advance(metrics, part);
	return HTTP_MORE;
}

static bool begin_page(void *page, void *state, uint32_t format)
{
	const struct metrics_context *context = state;

	return metrics_begin(page, context->director, &(struct openmetrics){.format = format, .prefix = "glb_director_"});
}

static enum http_more write_page(void *page, FILE *to)
{
	struct metrics *metrics = page;

	metrics->to.to = to;
	return metrics_step(metrics);
}

static void end_page(void *page)
{
	struct metrics *metrics = page;

	view_free(metrics->view);
}

static bool begin_html(void *page, void *state, uint32_t table)
{
	const struct metrics_context *context = state;

	return (table == HTTP_NO_NUMBER || table < TABLE_MAX_TABLES) && context->history &&
	       page_begin(page, context->director, context->history, table == HTTP_NO_NUMBER ? -1 : (int)table);
}

static enum http_more write_html(void *page, FILE *to)
{
	return page_write(page, to) ? HTTP_MORE : HTTP_END;
}

static void end_html(void *state)
{
	struct page *page = state;

	view_free(page->view);
}

#define HTML                                                                                          \
	.type = "text/html; charset=utf-8", .policy = html_policy, .state_size = sizeof(struct page), \
	.write = write_html, .end = end_html
#define STATE .state_size = sizeof(struct metrics), .write = write_page, .end = end_page

const struct http_route metrics_routes[] = {
	{.path = "/", HTML, .begin = begin_html, .number = HTTP_NO_NUMBER},
	{.path = "/tables/#", HTML, .begin = begin_html},
	{.path = "/metrics", .accept = OPENMETRICS_MEDIA, .type = OPENMETRICS_TYPE, .begin = begin_page, STATE},
	{.path = "/metrics", .type = OPENMETRICS_TYPE_LEGACY, .begin = begin_page, .number = OPENMETRICS_LEGACY, STATE},
	{0},
};
