/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of ports and their queues, as the drivers count. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mempool.h>

#include "common/text.h"
#include "director/http/metrics.h"
#include "director/ports/link.h"

/* A port as its driver counts, and its link. */
struct port_reading {
	struct rte_eth_stats stats;
	struct link link;
};

static struct port_reading read_port(struct director *director, uint32_t item)
{
	struct port_reading reading = {.link = link_load(&director->ports[item])};

	director_port_stats(director, (uint16_t)item, &reading.stats);
	return reading;
}

static void print_of_port(struct metrics *metrics, const struct port *port, uint64_t value)
{
	openmetrics_number(&metrics->to,
		OPENMETRICS_LABELS({"port", metrics_label(port->id).text}, {"device", port->name}), value);
}

static void print_info(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	const struct port *port = &metrics->director->ports[item];
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	rte_ether_format_addr(mac, sizeof(mac), &port->mac);
	for (char *at = mac; *at; at++) /* as everywhere else */
		*at = (char)(*at >= 'A' && *at <= 'F' ? *at - 'A' + 'a' : *at);
	openmetrics_info(&metrics->to, OPENMETRICS_LABELS({"port", metrics_label(port->id).text}, {"device", port->name},
					       {"driver", port->info.driver_name}, {"mac", mac}));
}

static void print_running(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	print_of_port(metrics, &metrics->director->ports[item], port_is_running(&metrics->director->ports[item]));
}

/* A metric that the driver counts: its name, help, and member of struct port_reading. */
#define READINGS(X)                                                                                                      \
	X(port_up, GAUGE, "1 if the link is up", link.up)                                                                \
	X(port_received_packets, COUNTER, "frames that the port received, as its driver counts", stats.ipackets)         \
	X(port_received_bytes, COUNTER, "bytes of these frames", stats.ibytes)                                           \
	X(port_transmitted_packets, COUNTER, "frames that the port sent, as its driver counts", stats.opackets)          \
	X(port_transmitted_bytes, COUNTER, "bytes of these frames", stats.obytes)                                        \
	X(port_rx_missed_packets, COUNTER, "frames that the port dropped because its receive queues were full",          \
		stats.imissed)                                                                                           \
	X(port_rx_no_mbuf_packets, COUNTER, "frames that were not received because no buffer was free", stats.rx_nombuf) \
	X(port_rx_errors, COUNTER, "received frames with errors", stats.ierrors)                                         \
	X(port_tx_errors, COUNTER, "frames that the port failed to send", stats.oerrors)

#define X(name, type, help, member)                                                                   \
	static void print_##name(struct metrics *metrics, const struct live_table *live __rte_unused, \
		uint32_t table __rte_unused, uint32_t item)                                           \
	{                                                                                             \
		const struct port *port = &metrics->director->ports[item];                            \
                                                                                                      \
		print_of_port(metrics, port, (uint64_t)read_port(metrics->director, item).member);    \
	}
READINGS(X)
#undef X

static void print_speed(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	const struct port *port = &metrics->director->ports[item];
	struct link link = link_load(port);

	if (link.up && link.mbps)
		print_of_port(metrics, port, (uint64_t)link.mbps * 1000000 / 8);
}

static void print_events(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	const struct port *port = &metrics->director->ports[item];
	const struct port_events *events = &metrics->director->port_events[item];

	for (unsigned event = 0; event < PORT_EVENT_COUNT; event++)
		openmetrics_number(&metrics->to,
			OPENMETRICS_LABELS({"port", metrics_label(port->id).text}, {"device", port->name},
				{"event", port_event_counter(event)}),
			__atomic_load_n(&events->counts[event], __ATOMIC_RELAXED));
}

static void print_resets(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	const struct port *port = &metrics->director->ports[item];

	print_of_port(metrics, port, __atomic_load_n(&port->resets, __ATOMIC_RELAXED));
}

static void print_reset_failures(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	const struct port *port = &metrics->director->ports[item];

	print_of_port(metrics, port, __atomic_load_n(&port->reset_failures, __ATOMIC_RELAXED));
}

static void print_attaches(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	const struct port *port = &metrics->director->ports[item];

	print_of_port(metrics, port, __atomic_load_n(&port->attaches, __ATOMIC_RELAXED));
}

static void print_mbufs(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	const struct port *port = &metrics->director->ports[item];

	if (port->pool)
		print_of_port(metrics, port, port->pool->size);
}

static void print_mbufs_in_use(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	const struct port *port = &metrics->director->ports[item];

	if (port->pool)
		print_of_port(metrics, port, rte_mempool_in_use_count(port->pool));
}

struct xstats {
	int count;
	struct rte_eth_xstat_name *names;
	struct rte_eth_xstat *values;
};

/* Reads the driver's own counters. count: 0 if it has none, or if the port is being reset; the page then leaves them
 * out. */
static struct xstats read_xstats(struct metrics *metrics, const struct port *port)
{
	struct director *director = metrics->director;
	struct xstats xstats = {0};
	bool running;
	int count;

	pthread_mutex_lock(&director->ports_lock);
	running = port_is_running(port);
	metrics->left_out |= !running;
	count = running ? rte_eth_xstats_get_names(port->id, NULL, 0) : 0;
	if (count > 0) {
		xstats.names = calloc((size_t)count, sizeof(*xstats.names));
		xstats.values = calloc((size_t)count, sizeof(*xstats.values));
	}
	if (xstats.names && xstats.values && rte_eth_xstats_get_names(port->id, xstats.names, (unsigned)count) == count &&
		rte_eth_xstats_get(port->id, xstats.values, (unsigned)count) == count)
		xstats.count = count;
	pthread_mutex_unlock(&director->ports_lock);
	return xstats;
}

/*
 * Writes what the driver counts for each queue. ethdev and most drivers name these counters `start`, the number of the
 * queue, and `end`: "rx_q0_packets".
 */
static void print_queues(struct metrics *metrics, uint32_t item, const char *start, const char *end)
{
	const struct port *port = &metrics->director->ports[item];
	struct xstats xstats = read_xstats(metrics, port);
	uint32_t queues = start[0] == 'r' ? port->rx_queues : port->tx_queues;

	for (int i = 0; i < xstats.count; i++) {
		const char *name = xstats.names[xstats.values[i].id].name;
		char queue[16];
		uint32_t number;

		if (strncmp(name, start, strlen(start)) != 0)
			continue;
		name += strlen(start);
		if (!text_take_number(&name, 0, PORT_MAX_QUEUES, &number) || strcmp(name, end) != 0 || number >= queues)
			continue;
		snprintf(queue, sizeof(queue), "%" PRIu32, number);
		openmetrics_number(&metrics->to,
			OPENMETRICS_LABELS(
				{"port", metrics_label(port->id).text}, {"device", port->name}, {"queue", queue}),
			xstats.values[i].value);
	}
	free(xstats.names);
	free(xstats.values);
}

static void print_queue_received_packets(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	print_queues(metrics, item, "rx_q", "_packets");
}

static void print_queue_received_bytes(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	print_queues(metrics, item, "rx_q", "_bytes");
}

static void print_queue_transmitted_packets(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	print_queues(metrics, item, "tx_q", "_packets");
}

static void print_queue_transmitted_bytes(
	struct metrics *metrics, const struct live_table *live __rte_unused, uint32_t table __rte_unused, uint32_t item)
{
	print_queues(metrics, item, "tx_q", "_bytes");
}

const struct metrics_section metrics_ports[] = {
	{METRICS_PORTS, "port", OPENMETRICS_INFO, "the ports that the director uses", print_info},
	{METRICS_PORTS, "port_running", OPENMETRICS_GAUGE, "1 unless the port is being reset or was removed",
		print_running},
#define X(name, type, help, member) {METRICS_PORTS, #name, OPENMETRICS_##type, help, print_##name},
	READINGS(X)
#undef X
		{METRICS_PORTS, "port_speed_bytes", OPENMETRICS_GAUGE, "speed of the link in bytes per second",
			print_speed},
	{METRICS_PORTS, "port_events", OPENMETRICS_COUNTER, "events that the driver has reported", print_events},
	{METRICS_PORTS, "port_resets", OPENMETRICS_COUNTER, "resets after which the port was in use again", print_resets},
	{METRICS_PORTS, "port_reset_failures", OPENMETRICS_COUNTER, "attempts to reset the port that failed",
		print_reset_failures},
	{METRICS_PORTS, "port_attaches", OPENMETRICS_COUNTER, "times that a removed device was back and in use again",
		print_attaches},
	{METRICS_PORTS, "port_mbufs", OPENMETRICS_GAUGE, "frame buffers of the port", print_mbufs},
	{METRICS_PORTS, "port_mbufs_in_use", OPENMETRICS_GAUGE, "frame buffers of the port that are in use",
		print_mbufs_in_use},
	{METRICS_PORTS, "queue_received_packets", OPENMETRICS_COUNTER,
		"frames received on a queue, if the driver counts them", print_queue_received_packets},
	{METRICS_PORTS, "queue_received_bytes", OPENMETRICS_COUNTER, "bytes of these frames", print_queue_received_bytes},
	{METRICS_PORTS, "queue_transmitted_packets", OPENMETRICS_COUNTER,
		"frames sent on a queue, if the driver counts them", print_queue_transmitted_packets},
	{METRICS_PORTS, "queue_transmitted_bytes", OPENMETRICS_COUNTER, "bytes of these frames",
		print_queue_transmitted_bytes},
	{.over = METRICS_END},
};
