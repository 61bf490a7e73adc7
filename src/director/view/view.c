/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/view/view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "common/clock.h"
#include "director/director.h"
#include "director/workers.h"

#define LCORE(metric, member)    metric, NULL, OPENMETRICS_COUNTER, FACTS_AT(struct view_lcore, member)
#define SET(metric, key, member) metric, key, OPENMETRICS_GAUGE, FACTS_AT(struct view_set, summary.member)

const struct fact view_lcore_facts[] = {
	{LCORE("lcore_busy_seconds", gaps.busy_seconds), "time in iterations that worked on packets"},
	{"lcore_poll_gap_seconds", NULL, OPENMETRICS_HISTOGRAM, .help = "gaps between two polls"},
	{LCORE("lcore_polls", counters.polls), "iterations of the lcore over all its queues"},
	{LCORE("lcore_empty_polls", counters.empty_polls), "iterations that received no packet"},
	{LCORE("lcore_sleeps", counters.sleeps), "times that the lcore slept"},
	{LCORE("lcore_received_packets", counters.received), "frames that the lcore received from ports"},
	{0},
};

#define HEALTH(metric, key, member) metric, key, OPENMETRICS_GAUGE, FACTS_AT(struct health, member)

const struct fact view_health_facts[] = {
	{HEALTH("health_state_since_timestamp_seconds", "since", since), "Unix time of the last change of the state"},
	{HEALTH("health_reasons", NULL, report.found), "number of reasons of the state"},
	{HEALTH(NULL, "omitted", report.omitted), "number of reasons for which there is no room"},
	{0},
};

static struct view_lcore view_lcore(const struct worker *worker)
{
	struct view_lcore view = {.lcore = worker->lcore};

	counters_sum(&view.counters, &worker->counters);
	poll_gaps_read(&worker->gaps, rte_get_tsc_hz(), &view.gaps);
	return view;
}

const struct fact view_set_facts[] = {
	{SET(NULL, "next_hop_count", next_hops), "number of next hops"},
	{SET("next_hops_unreachable", "unreachable", unreachable), "number of next hops without a MAC address to send to"},
	{SET(NULL, "backend_count", backends), "number of backends that packets go to"},
	{SET("backends_without_next_hop", "without_count", backends_without),
		"number of backends that packets go to and that have no reachable next hop"},
	{SET(NULL, "version", version), "changes when a next hop changes"},
	{0},
};

uint32_t view_set_count(const struct director *director)
{
	return director->conf.port_interface_count ? director->conf.port_interface_count : 1;
}

const char *view_set_device(const struct director *director, uint32_t index)
{
	return director->conf.port_interface_count ? director->ports.list[index].name : "all";
}

struct view_set view_set(const struct director *director, uint32_t index)
{
	struct view_set set = {
		.device = view_set_device(director, index),
		.fixed = !director->nexthop,
		.summary = {.next_hops = 1},
	};

	if (!set.fixed)
		set.summary = nexthop_summary(director->nexthop, index);
	else
		strcpy(set.summary.mac, view_fixed_next_hop(director).mac);
	return set;
}

struct nexthop_item view_fixed_next_hop(const struct director *director)
{
	struct nexthop_item item = {
		.state = "fixed",
		.age_s = (uint32_t)((clock_now_ns() - director->started_ns) / CLOCK_NS_PER_S),
	};
	uint64_t mac = 0;

	memcpy(&mac, director->conf.gateway_mac, sizeof(director->conf.gateway_mac));
	neighbour_mac_text(mac, item.mac);
	return item;
}

uint32_t view_next_hops(
	const struct director *director, uint32_t set, uint32_t first, struct nexthop_item *items, uint32_t max)
{
	if (director->nexthop)
		return nexthop_list(director->nexthop, set, first, items, max);
	if (first == 0)
		items[0] = view_fixed_next_hop(director);
	return first == 0;
}

uint32_t view_orphans(
	const struct director *director, uint32_t set, uint32_t first, struct nexthop_orphan *orphans, uint32_t max)
{
	return director->nexthop ? nexthop_list_orphans(director->nexthop, set, first, orphans, max) : 0;
}

struct view *view_take(struct director *director, bool queues)
{
	struct view *view = calloc(1, sizeof(*view) + director->workers.count * sizeof(view->lcores[0]));
	const struct live_table *live;

	if (!view)
		return NULL;
	view->reload = &director->reload;
	view->isa = &director->isa;
	view->sources[0] = conf_outbound_source(&director->conf, NETADDR_V4);
	view->sources[1] = conf_outbound_source(&director->conf, NETADDR_V6);
	view->started = director->started;
	live = reload_lock(&director->reload);
	view->routes = view_routes(&director->reload);
	text_hex64(live->fingerprint, view->fingerprint);
	reload_unlock(&director->reload);
	health_report_now(&director->watch.health, &view->health, (uint64_t)time(NULL), clock_now_ms());
	view->capture = capture_state(director->capture);
	view->underlay_count = underlay_report_read(&director->underlay, view->underlay);
	view->set_count = view_set_count(director);
	for (uint32_t i = 0; i < view->set_count; i++)
		view->sets[i] = view_set(director, i);
	view->port_count = director->ports.count;
	for (uint16_t i = 0; i < director->ports.count; i++) {
		view->ports[i] = view_port_counted(director, i);
		if (queues && view->ports[i].used)
			view_add_queues(view, director, i);
	}
	view->lcore_count = director->workers.count;
	for (uint16_t i = 0; i < director->workers.count; i++)
		view->lcores[i] = view_lcore(director->workers.list[i]);
	workers_sum(&director->workers, &view->sum);
	return view;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	free(view->queues);
	free(view);
}
