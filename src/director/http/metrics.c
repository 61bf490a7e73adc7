/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/http/metrics.h"

#include "director/page/page.h"
#include "program/html/html.h"

bool metrics_begin(struct metrics *metrics, struct director *director, const struct openmetrics *to)
{
	*metrics = (struct metrics){.to = *to, .director = director, .view = view_take(director)};
	return metrics->view;
}

void metrics_end(struct metrics *metrics)
{
	view_free(metrics->view);
	metrics->view = NULL;
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
	const struct live_table *live = reload_lock(&metrics->director->reload);
	bool same = live->generation == metrics->view->routes.generation;

	if (same)
		write_item(metrics, part, live);
	reload_unlock(&metrics->director->reload);
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

static bool begin_openmetrics(void *page, void *director)
{
	return metrics_begin(page, director, &(struct openmetrics){.format = OPENMETRICS_1_0, .prefix = "glb_director_"});
}

static bool begin_legacy(void *page, void *director)
{
	return metrics_begin(
		page, director, &(struct openmetrics){.format = OPENMETRICS_LEGACY, .prefix = "glb_director_"});
}

static enum http_more write_page(void *page, FILE *to)
{
	struct metrics *metrics = page;

	metrics->to.to = to;
	return metrics_step(metrics);
}

static void end_page(void *page)
{
	metrics_end(page);
}

static bool begin_overview(void *page, void *context)
{
	struct director *director = context;

	return director->history && page_begin(page, director, director->history, -1);
}

static bool begin_table(void *page, void *context, uint32_t table)
{
	struct director *director = context;

	return director->history && table < TABLE_MAX_TABLES && page_begin(page, director, director->history, (int)table);
}

static enum http_more write_html(void *page, FILE *to)
{
	return page_write(page, to) ? HTTP_MORE : HTTP_END;
}

#define HTML \
	.type = "text/html; charset=utf-8", .policy = html_policy, .state_size = sizeof(struct page), .write = write_html
#define STATE .state_size = sizeof(struct metrics), .write = write_page, .end = end_page

const struct http_route metrics_routes[] = {
	{.path = "/", HTML, .begin = begin_overview},
	{.path = "/tables/#", HTML, .begin_numbered = begin_table},
	{.path = "/metrics", .accept = OPENMETRICS_MEDIA, .type = OPENMETRICS_TYPE, .begin = begin_openmetrics, STATE},
	{.path = "/metrics", .type = OPENMETRICS_TYPE_LEGACY, .begin = begin_legacy, STATE},
	{0},
};
