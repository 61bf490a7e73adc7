/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/http/metrics.h"

#include "director/page/page.h"
#include "director/workers.h"
#include "program/html/html.h"

struct metrics_label metrics_label(unsigned number)
{
	struct metrics_label label;

	snprintf(label.text, sizeof(label.text), "%u", number);
	return label;
}

static const struct metrics_section *const parts[] = {
	metrics_program, metrics_tables, metrics_packets, metrics_ports, metrics_lcores};

/* Returns the section with this number, counted over all parts. NULL: there are no more. */
static const struct metrics_section *section_at(unsigned number)
{
	for (unsigned part = 0; part < sizeof(parts) / sizeof(parts[0]); part++)
		for (const struct metrics_section *section = parts[part]; section->over != METRICS_END; section++)
			if (number-- == 0)
				return section;
	return NULL;
}

void metrics_begin(struct metrics *metrics, struct director *director, const struct openmetrics *to)
{
	struct reload *reload = &director->reload;

	*metrics = (struct metrics){.to = *to, .director = director};
	pthread_mutex_lock(&reload->lock);
	metrics->generation = reload->shared->live->generation;
	workers_sum(director, &metrics->sum);
	pthread_mutex_unlock(&reload->lock);
}

/* Returns the number of items in the section; of binds and backends, those of the current table. */
static uint32_t count_items(
	const struct metrics *metrics, const struct metrics_section *section, const struct live_table *live)
{
	const struct director *director = metrics->director;

	switch (section->over) {
	case METRICS_BINDS:
		return live->routes->set.tables[metrics->table].bind_count;
	case METRICS_BACKENDS:
		return live->routes->set.tables[metrics->table].backend_count;
	case METRICS_PORTS:
		return director->port_count;
	case METRICS_LCORES:
		return director->worker_count;
	case METRICS_NEXT_HOPS:
		return director->conf.port_interface_count ? director->conf.port_interface_count : 1;
	default:
		return 1;
	}
}

/* Writes the item, and the header of the family before the first one. */
static void write_item(struct metrics *metrics, const struct metrics_section *section, const struct live_table *live)
{
	if (section->name && metrics->table == 0 && metrics->item == 0)
		openmetrics_family(&metrics->to, section->name, section->type, section->help);
	if (section->over == METRICS_PORTS && !port_is_used(&metrics->director->ports[metrics->item]))
		return;
	if (metrics->item < count_items(metrics, section, live))
		section->print(metrics, live, metrics->table, metrics->item);
}

/* Steps to the next item, or to the next section. */
static void advance(struct metrics *metrics, const struct metrics_section *section, const struct live_table *live)
{
	bool tables =
		section->over == METRICS_TABLES || section->over == METRICS_BINDS || section->over == METRICS_BACKENDS;

	if (++metrics->item < count_items(metrics, section, live))
		return;
	metrics->item = 0;
	if (tables && ++metrics->table < live->routes->set.count)
		return;
	metrics->table = 0;
	metrics->section++;
}

/* For sections that need the table. Returns false if another table is in use. */
static bool step_locked(struct metrics *metrics, const struct metrics_section *section)
{
	struct reload *reload = &metrics->director->reload;
	const struct live_table *live;
	bool same;

	pthread_mutex_lock(&reload->lock);
	live = reload->shared->live;
	same = live->generation == metrics->generation;
	if (same) {
		write_item(metrics, section, live);
		advance(metrics, section, live);
	}
	pthread_mutex_unlock(&reload->lock);
	return same;
}

enum http_more metrics_step(struct metrics *metrics)
{
	const struct metrics_section *section = section_at(metrics->section);

	if (!section) {
		openmetrics_end(&metrics->to);
		return HTTP_END;
	}
	if (section->over <= METRICS_LAST_LOCKED)
		return step_locked(metrics, section) ? HTTP_MORE : HTTP_ABORT;
	write_item(metrics, section, NULL);
	advance(metrics, section, NULL);
	return HTTP_MORE;
}

static bool begin_page(struct metrics *page, struct director *director, enum openmetrics_format format)
{
	metrics_begin(page, director, &(struct openmetrics){.format = format, .prefix = "glb_director_"});
	return true;
}

static bool begin_openmetrics(void *page, void *director)
{
	return begin_page(page, director, OPENMETRICS_1_0);
}

static bool begin_legacy(void *page, void *director)
{
	return begin_page(page, director, OPENMETRICS_LEGACY);
}

static enum http_more write_page(void *page, FILE *to)
{
	struct metrics *metrics = page;

	metrics->to.to = to;
	return metrics_step(metrics);
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
#define STATE .state_size = sizeof(struct metrics), .write = write_page

const struct http_route metrics_routes[] = {
	{.path = "/", HTML, .begin = begin_overview},
	{.path = "/tables/#", HTML, .begin_numbered = begin_table},
	{.path = "/metrics", .accept = OPENMETRICS_MEDIA, .type = OPENMETRICS_TYPE, .begin = begin_openmetrics, STATE},
	{.path = "/metrics", .type = OPENMETRICS_TYPE_LEGACY, .begin = begin_legacy, STATE},
	{0},
};
