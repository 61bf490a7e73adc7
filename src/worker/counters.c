/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/counters.h"

#define COUNTER(metric, member) metric, #member, OPENMETRICS_COUNTER, FACTS_AT(struct counters, member)

const struct fact counters_facts[] = {
	{COUNTER("received_packets", received), "frames received from the ports"},
#define X(symbol, name, help) {NULL, name, OPENMETRICS_COUNTER, FACTS_AT(struct counters, verdicts[symbol]), help},
	VERDICT_LIST(X)
#undef X
		{COUNTER("transmitted_packets", tx_packets), "frames that the ports accepted for sending"},
	{COUNTER("transmitted_bytes", tx_bytes),
		"bytes of the frames that the ports accepted, with their Ethernet headers"},
	{COUNTER("slow_path_packets", slow_path),
		"received frames that the worker had to copy: several segments, a shared buffer, or tags taken out"},
	{COUNTER("general_path_packets", general_path),
		"received frames that took the general path, which is slower than the fast path"},
	{COUNTER("too_big_unanswered_packets", too_big_limited),
		"frames in drop_too_big that got no too-big reply because of the rate limit", {"reason", "limited"},
		"frames that were dropped as too big without a reply, by reason"},
	{COUNTER("too_big_unanswered_packets", too_big_without_df),
		"frames in drop_too_big that got no too-big reply because they are IPv4 without DF",
		{"reason", "without_df"}},
	{COUNTER("quic_packets", quic_routed), "QUIC packets whose connection ID names a proxy, which got them first",
		{"fate", "routed"}, "packets to binds with quic, by what their connection ID names"},
	{COUNTER("quic_packets", quic_down), "QUIC packets whose connection ID names a proxy that is down",
		{"fate", "down"}},
	{COUNTER("quic_packets", quic_unroutable_config),
		"QUIC packets whose connection ID has no configuration of the table; their row chose the proxy",
		{"fate", "unroutable_config"}},
	{COUNTER("quic_packets", quic_unroutable_short),
		"packets to binds with quic whose connection ID is too short or missing; their row chose the proxy",
		{"fate", "unroutable_short"}},
	{COUNTER("quic_packets", quic_unroutable_server),
		"QUIC packets whose connection ID names no proxy of the table; their row chose the proxy",
		{"fate", "unroutable_server"}},
	{COUNTER("exception_packets", exception_neighbour), "frames in exception of the class neighbour",
		{"class", "neighbour"}, "frames that the exception path accepted, by class"},
	{COUNTER("exception_packets", exception_link), "frames in exception of the class link", {"class", "link"}},
	{COUNTER("exception_packets", exception_routing), "frames in exception of the class routing",
		{"class", "routing"}},
	{COUNTER("exception_packets", exception_icmp), "frames in exception of the class ICMP", {"class", "icmp"}},
	{COUNTER("exception_packets", exception_other), "frames in exception of no class of the control plane",
		{"class", "other"}},
	{COUNTER("exception_limited_packets", exception_limited_neighbour),
		"frames in drop_exception_limited of the class neighbour", {"class", "neighbour"},
		"frames that were dropped because they exceed exception_limits, by class"},
	{COUNTER("exception_limited_packets", exception_limited_link),
		"frames in drop_exception_limited of the class link", {"class", "link"}},
	{COUNTER("exception_limited_packets", exception_limited_routing),
		"frames in drop_exception_limited of the class routing", {"class", "routing"}},
	{COUNTER("exception_limited_packets", exception_limited_icmp),
		"frames in drop_exception_limited of the class ICMP", {"class", "icmp"}},
	{COUNTER("exception_limited_packets", exception_limited_other),
		"frames in drop_exception_limited of no class of the control plane", {"class", "other"}},
	{COUNTER("exception_returned_packets", exception_returned),
		"frames from the exception path that a port accepted for sending"},
	{COUNTER("exception_return_dropped_packets", exception_return_full),
		"frames from the exception path that were dropped because the transmit queue was full",
		{"reason", "full"}, "frames from the exception path that were dropped, by reason"},
	{COUNTER("exception_return_dropped_packets", exception_return_refused),
		"frames from the exception path that the port cannot send: too long, or several segments",
		{"reason", "refused"}},
	{COUNTER(NULL, polls), "iterations of the lcore over all its queues"},
	{COUNTER(NULL, empty_polls), "iterations that received no packet"},
	{COUNTER(NULL, sleeps), "times that the lcore slept (only with idle = \"sleep\")"},
	{0},
};
_Static_assert(sizeof(counters_facts) == (COUNTERS_VALUES + 1) * sizeof(struct fact), "every counter is listed");

void counters_sum(struct counters *sum, const struct counters *from)
{
	const uint64_t *source = (const uint64_t *)from;
	uint64_t *to = (uint64_t *)sum;

	for (size_t i = 0; i < COUNTERS_VALUES; i++)
		to[i] += __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}
