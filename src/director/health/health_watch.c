/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/health/health_watch.h"

#include <time.h>

#include "common/clock.h"
#include "program/log.h"

static health_source *const sources[] = {
	health_links,
	health_workers,
	health_next_hops,
	health_table,
	health_traffic,
	health_underlay,
};

void health_watch_begin(struct health_watch *watch)
{
	health_open(&watch->health, (uint64_t)time(NULL));
	for (uint16_t i = 0; i < watch->ports->count; i++) {
		struct port *port = &watch->ports->list[i];

		if (!port_is_used(port))
			continue;
		link_store(port, link_ask(port));
		if (!port->link.up) /* the log would not say otherwise why the director is not ready */
			log_notice("port %u (%s): the link is down", port->id, port->name);
	}
	health_traffic_sample(watch); /* so that packets lost before the first tick are a reason, too */
}

bool health_watch_tick(struct health_watch *watch)
{
	health_traffic_sample(watch);
	return health_workers_sample(watch, clock_now_ms());
}

static void log_change(enum health_state before, const struct health *health)
{
	const struct health_report *report = &health->report;

	if (health->state == before)
		return;
	log_notice("health: %s -> %s", health_state_name(before), health_state_name(health->state));
	for (unsigned i = 0; i < report->count; i++)
		log_line(LOG_LEVEL_WARNING, "health: %s: %s: %s", health_severity_name(report->reasons[i].severity),
			report->reasons[i].object, report->reasons[i].text);
}

bool health_watch_evaluate(struct health_watch *watch)
{
	struct health_report report = {0};
	enum health_state before = watch->health.state;
	bool changed;

	for (unsigned i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		sources[i](watch, &report);
	changed = health_update(&watch->health, &report, (uint64_t)time(NULL), clock_now_ms());
	log_change(before, &watch->health);
	return changed;
}
