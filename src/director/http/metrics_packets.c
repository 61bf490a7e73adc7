/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of packets, summed over all lcores, and of next hops. */
#include <string.h>

#include "director/control/underlay_report.h"
#include "director/http/metrics.h"
#include "director/nexthop/nexthop.h"

#define DROP "drop_"

static void print_sums(struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused,
	uint32_t item __rte_unused)
{
	const struct counters *sum = &metrics->sum;
	struct openmetrics *to = &metrics->to;

	openmetrics_counter(to, "received_packets", "frames received from the ports", sum->received);
	openmetrics_counter(to, "transmitted_packets", "frames that the ports accepted for sending", sum->tx_packets);
	openmetrics_counter(to, "transmitted_bytes", "bytes of these frames, with their Ethernet headers", sum->tx_bytes);
	openmetrics_counter(to, "forwarded_packets", "frames sent to a proxy in GUE", sum->verdicts[VERDICT_FORWARDED]);
	openmetrics_family(to, "dropped_packets", OPENMETRICS_COUNTER, "frames that the director dropped, by reason");
	for (unsigned verdict = 0; verdict < VERDICT_COUNT; verdict++)
		if (strncmp(verdict_name(verdict), DROP, strlen(DROP)) == 0)
			openmetrics_number(to, OPENMETRICS_LABELS({"reason", verdict_name(verdict) + strlen(DROP)}),
				sum->verdicts[verdict]);
	openmetrics_counter(to, "slow_path_packets", "received frames that the worker had to copy", sum->slow_path);
	openmetrics_counter(to, "general_path_packets",
		"received frames that took the general path, which is slower than the fast path", sum->general_path);
}

static void print_too_big(struct metrics *metrics, const struct live_table *live __rte_unused,
	uint32_t table __rte_unused, uint32_t item __rte_unused)
{
	const struct counters *sum = &metrics->sum;
	struct openmetrics *to = &metrics->to;

	openmetrics_counter(to, "too_big_replies", "too-big replies that the director sent",
		sum->verdicts[VERDICT_ANSWERED_TOO_BIG]);
	openmetrics_family(to, "too_big_unanswered_packets", OPENMETRICS_COUNTER,
		"frames that were dropped as too big without a reply, by reason");
	openmetrics_number(to, OPENMETRICS_LABELS({"reason", "limited"}), sum->too_big_limited);
	openmetrics_number(to, OPENMETRICS_LABELS({"reason", "without_df"}), sum->too_big_without_df);
	openmetrics_counter(to, "underlay_too_big_messages",
		"ICMP errors of routers: a packet of the director is too big for the network to a proxy",
		sum->verdicts[VERDICT_UNDERLAY_TOO_BIG]);
}

static const char *address_text(uint32_t address, char buf[NETADDR_TEXT_MAX])
{
	struct netaddr addr = netaddr_from_bytes(NETADDR_V4, &address);

	return netaddr_format(&addr, buf);
}

static void print_underlay(struct metrics *metrics, const struct live_table *live __rte_unused,
	uint32_t table __rte_unused, uint32_t item __rte_unused)
{
	struct underlay_record records[UNDERLAY_REPORT_MAX];
	uint32_t count = underlay_report_read(&metrics->director->underlay, records);
	char backend[NETADDR_TEXT_MAX], router[NETADDR_TEXT_MAX];

	for (uint32_t i = 0; i < count; i++)
		openmetrics_number(&metrics->to,
			OPENMETRICS_LABELS({"backend", address_text(records[i].last.backend, backend)},
				{"router", address_text(records[i].last.router, router)}),
			records[i].last.mtu);
}

/* Writes a counter of each class, in the order of enum exception_class. */
static void print_classes(struct openmetrics *to, const uint64_t counts[5])
{
	static const char *const classes[] = {"neighbour", "link", "routing", "icmp", "other"};

	for (unsigned i = 0; i < RTE_DIM(classes); i++)
		openmetrics_number(to, OPENMETRICS_LABELS({"class", classes[i]}), counts[i]);
}

static void print_exceptions(struct metrics *metrics, const struct live_table *live __rte_unused,
	uint32_t table __rte_unused, uint32_t item __rte_unused)
{
	const struct counters *sum = &metrics->sum;
	struct openmetrics *to = &metrics->to;

	openmetrics_family(
		to, "exception_packets", OPENMETRICS_COUNTER, "frames that the exception path accepted, by class");
	print_classes(to, (const uint64_t[]){sum->exception_neighbour, sum->exception_link, sum->exception_routing,
				  sum->exception_icmp, sum->exception_other});
	openmetrics_family(to, "exception_limited_packets", OPENMETRICS_COUNTER,
		"frames that were dropped because they exceed exception_limits, by class");
	print_classes(
		to, (const uint64_t[]){sum->exception_limited_neighbour, sum->exception_limited_link,
			    sum->exception_limited_routing, sum->exception_limited_icmp, sum->exception_limited_other});
	openmetrics_counter(to, "exception_returned_packets",
		"frames from the exception path that a port accepted for sending", sum->exception_returned);
	openmetrics_family(to, "exception_return_dropped_packets", OPENMETRICS_COUNTER,
		"frames from the exception path that were dropped, by reason");
	openmetrics_number(to, OPENMETRICS_LABELS({"reason", "full"}), sum->exception_return_full);
	openmetrics_number(to, OPENMETRICS_LABELS({"reason", "refused"}), sum->exception_return_refused);
}

/* DPDK's name of the port that has the set of next hops, or "all". */
static const char *device(const struct metrics *metrics, uint32_t set)
{
	return metrics->director->conf.port_interface_count ? metrics->director->ports[set].name : "all";
}

static void print_next_hops(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	uint32_t counts[NEIGHBOUR_STATES];

	if (!metrics->director->nexthop) {
		openmetrics_number(&metrics->to, OPENMETRICS_LABELS({"device", "all"}, {"state", "fixed"}), 1);
		return;
	}
	nexthop_count_states(metrics->director->nexthop, item, counts);
	for (unsigned i = 0; i < NEIGHBOUR_STATES; i++)
		openmetrics_number(&metrics->to,
			OPENMETRICS_LABELS({"device", device(metrics, item)}, {"state", neighbour_states[i]}), counts[i]);
}

static struct nexthop_summary summary_of(const struct metrics *metrics, uint32_t set)
{
	if (!metrics->director->nexthop)
		return (struct nexthop_summary){.next_hops = 1};
	return nexthop_summary(metrics->director->nexthop, set);
}

static void print_unreachable(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	openmetrics_number(&metrics->to, OPENMETRICS_LABELS({"device", device(metrics, item)}),
		summary_of(metrics, item).unreachable);
}

static void print_without(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	openmetrics_number(&metrics->to, OPENMETRICS_LABELS({"device", device(metrics, item)}),
		summary_of(metrics, item).backends_without);
}

const struct metrics_section metrics_packets[] = {
	{METRICS_ONCE, NULL, 0, NULL, print_sums},
	{METRICS_ONCE, NULL, 0, NULL, print_too_big},
	{METRICS_ONCE, "underlay_mtu_bytes", OPENMETRICS_GAUGE,
		"the MTU in the last ICMP error of a router about a packet to the backend", print_underlay},
	{METRICS_ONCE, NULL, 0, NULL, print_exceptions},
	{METRICS_NEXT_HOPS, "next_hops", OPENMETRICS_GAUGE, "number of next hops in each state", print_next_hops},
	{METRICS_NEXT_HOPS, "next_hops_unreachable", OPENMETRICS_GAUGE,
		"number of next hops without a MAC address to send to", print_unreachable},
	{METRICS_NEXT_HOPS, "backends_without_next_hop", OPENMETRICS_GAUGE,
		"number of backends that packets go to and that have no reachable next hop", print_without},
	{.over = METRICS_END},
};
