/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include <rte_version.h>

#include "director/http/metrics.h"

/* A number as the value of a label. */
struct number {
	char text[16];
};

static struct number number(unsigned value)
{
	struct number number;

	snprintf(number.text, sizeof(number.text), "%u", value);
	return number;
}

static void info(struct openmetrics *to, const char *name, const char *help, const struct openmetrics_label *labels)
{
	openmetrics_family(to, name, OPENMETRICS_INFO, help);
	openmetrics_info(to, labels);
}

static void write_health(struct openmetrics *to, const struct view *view)
{
	const struct health *health = &view->health;

	openmetrics_family(
		to, "health_state", OPENMETRICS_GAUGE, "1 for the state of the director, and 0 for the others");
	for (unsigned state = 0; state <= HEALTH_STOPPING; state++)
		openmetrics_number(to, OPENMETRICS_LABELS({"state", health_state_name(state)}), state == health->state);
	facts_metrics(to, view_health_facts, health);
	openmetrics_family(
		to, "health_reason", OPENMETRICS_GAUGE, "1 for each reason of the state; absent if there is none");
	for (unsigned i = 0; i < health->report.count; i++) {
		const struct health_reason *reason = &health->report.reasons[i];

		openmetrics_number(to,
			OPENMETRICS_LABELS({"cause", health_cause_name(reason->cause)},
				{"severity", health_severity_name(reason->severity)}, {"object", reason->object}),
			1);
	}
}

static void write_program(struct openmetrics *to, const struct view *view)
{
	const struct isa_choice *isa = view->isa;
	char source[NETADDR_TEXT_MAX];

	info(to, "build", "versions of the director and of DPDK, the ISA of the fast path, and what decided it",
		OPENMETRICS_LABELS({"version", GLB_VERSION}, {"dpdk", rte_version() + strlen("DPDK ")},
			{"isa", isa_name(isa->isa)}, {"isa_by", isa_by_name(isa->by)}));
	openmetrics_family(
		to, "source", OPENMETRICS_INFO, "the source addresses of GUE packets, which the proxies must allow");
	for (unsigned i = 0; i < 2; i++)
		if (view->sources[i].family)
			openmetrics_info(to, OPENMETRICS_LABELS({"address", netaddr_format(&view->sources[i], source)}));
	openmetrics_gauge(to, "start_timestamp_seconds", "Unix time at which the director started", view->started);
	write_health(to, view);
	facts_metrics(to, capture_facts, &view->capture);
	info(to, "table", "the forwarding table in use",
		OPENMETRICS_LABELS({"digest", view->routes.digest}, {"first_hops", view->routes.first_hops},
			{"fingerprint", view->fingerprint}, {"format", view->routes.format}, {"path", view->routes.path}));
	facts_metrics(to, view_routes_facts, &view->routes);
}

static void write_table(struct openmetrics *to, const struct live_table *live, const struct fact *fact, uint32_t table,
	uint32_t item __rte_unused)
{
	struct view_table view = view_table(live, table);
	char label[16];

	facts_sample(to, fact, OPENMETRICS_LABELS({"table", table_label(&live->routes->set, table, label)}), &view);
}

static uint32_t count_binds(const struct table *table)
{
	return table->bind_count;
}

static void write_bind(
	struct openmetrics *to, const struct live_table *live, const struct fact *fact, uint32_t table, uint32_t item)
{
	const struct table_set *set = &live->routes->set;
	struct view_bind view = view_bind(live, table, item);
	char label[16], text[TABLE_BIND_TEXT_MAX];

	facts_sample(to, fact,
		OPENMETRICS_LABELS({"table", table_label(set, table, label)},
			{"bind", table_bind_text(&set->tables[table].binds[item], text)}),
		&view);
}

static uint32_t count_backends(const struct table *table)
{
	return table->backend_count;
}

static void write_backend(
	struct openmetrics *to, const struct live_table *live, const struct fact *fact, uint32_t table, uint32_t item)
{
	struct view_backend view = view_backend(live, table, item);
	char buf[16];
	const char *label = table_label(&live->routes->set, table, buf);

	if (fact->type == OPENMETRICS_INFO)
		openmetrics_info(
			to, OPENMETRICS_LABELS({"table", label}, {"backend", view.address}, {"state", view.state}));
	else
		facts_sample(to, fact, OPENMETRICS_LABELS({"table", label}, {"backend", view.address}), &view);
}

#define DROP "drop_"

static void write_packets(struct openmetrics *to, const struct view *view)
{
	const uint64_t *verdicts = view->sum.verdicts;
	const struct fact *mtu = underlay_report_facts;
	char backend[NETADDR_TEXT_MAX], router[NETADDR_TEXT_MAX];

	facts_metrics(to, counters_facts, &view->sum);
	openmetrics_counter(to, "forwarded_packets", "frames sent to a proxy in GUE", verdicts[VERDICT_FORWARDED]);
	openmetrics_counter(
		to, "too_big_replies", "too-big replies that the director sent", verdicts[VERDICT_ANSWERED_TOO_BIG]);
	openmetrics_counter(to, "underlay_too_big_messages",
		"ICMP errors of routers: a packet of the director is too big for the network to a proxy",
		verdicts[VERDICT_UNDERLAY_TOO_BIG]);
	openmetrics_family(to, "dropped_packets", OPENMETRICS_COUNTER, "frames that the director dropped, by reason");
	for (unsigned verdict = 0; verdict < VERDICT_COUNT; verdict++)
		if (strncmp(verdict_name(verdict), DROP, strlen(DROP)) == 0)
			openmetrics_number(to, OPENMETRICS_LABELS({"reason", verdict_name(verdict) + strlen(DROP)}),
				verdicts[verdict]);
	facts_family(to, mtu);
	for (uint32_t i = 0; i < view->underlay_count; i++)
		facts_sample(to, mtu,
			OPENMETRICS_LABELS({"backend", netaddr_format(&view->underlay[i].last.backend, backend)},
				{"router", netaddr_format(&view->underlay[i].last.router, router)}),
			&view->underlay[i]);
	openmetrics_family(to, "next_hops", OPENMETRICS_GAUGE, "number of next hops in each state");
	for (uint32_t i = 0; i < view->set_count; i++) {
		const struct view_set *set = &view->sets[i];

		if (set->fixed)
			openmetrics_number(to, OPENMETRICS_LABELS({"device", "all"}, {"state", "fixed"}), 1);
		for (unsigned state = 0; !set->fixed && state < NEIGHBOUR_STATES; state++)
			openmetrics_number(to,
				OPENMETRICS_LABELS({"device", set->device}, {"state", neighbour_states[state]}),
				set->summary.states[state]);
	}
}

static void write_set(struct openmetrics *to, const struct view *view, const struct fact *fact)
{
	for (uint32_t i = 0; i < view->set_count; i++)
		facts_sample(to, fact, OPENMETRICS_LABELS({"device", view->sets[i].device}), &view->sets[i]);
}

#define PORT(port)                         \
	{"port", number((port)->id).text}, \
	{                                  \
		"device", (port)->name     \
	}

static void write_port(struct openmetrics *to, const struct view *view, const struct fact *fact)
{
	for (uint16_t i = 0; i < view->port_count; i++) {
		const struct view_port *port = &view->ports[i];

		if (port->used && fact->type == OPENMETRICS_INFO)
			openmetrics_info(
				to, OPENMETRICS_LABELS(PORT(port), {"driver", port->driver}, {"mac", port->mac}));
		else if (port->used)
			facts_sample(to, fact, OPENMETRICS_LABELS(PORT(port), fact->label), port);
	}
}

static void write_queue(struct openmetrics *to, const struct view *view, const struct fact *fact)
{
	for (uint32_t i = 0; i < view->queue_count; i++) {
		const struct view_queue *queue = &view->queues[i];

		if (fact == &view_queue_facts[queue->kind])
			facts_sample(to, fact,
				OPENMETRICS_LABELS(PORT(&view->ports[queue->port]), {"queue", number(queue->queue).text}),
				queue);
	}
}

static void write_lcore(struct openmetrics *to, const struct view *view, const struct fact *fact)
{
	for (uint16_t i = 0; i < view->lcore_count; i++) {
		const struct view_lcore *lcore = &view->lcores[i];
		struct number id = number(lcore->lcore);
		const struct openmetrics_label labels[] = {{"lcore", id.text}, {0}};

		if (fact->type == OPENMETRICS_HISTOGRAM)
			openmetrics_histogram(to, labels, poll_gaps_bounds, lcore->gaps.counts, POLL_GAPS_BOUNDS,
				lcore->gaps.seconds);
		else
			facts_sample(to, fact, labels, lcore);
	}
}

const struct metrics_part metrics_parts[METRICS_PARTS] = {
	{.all = write_program},
	{.facts = view_table_facts, .item = write_table},
	{.facts = view_bind_facts, .item = write_bind, .count = count_binds},
	{.facts = view_backend_facts, .item = write_backend, .count = count_backends},
	{.all = write_packets},
	{.facts = view_set_facts, .family = write_set},
	{.facts = view_port_facts, .family = write_port},
	{.facts = view_port_event_facts, .family = write_port},
	{.facts = view_queue_facts, .family = write_queue},
	{.facts = view_lcore_facts, .family = write_lcore},
};
