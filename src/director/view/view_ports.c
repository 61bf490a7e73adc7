/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "director/director.h"
#include "director/view/view.h"

#define AT(member)           FACTS_AT(struct view_port, member)
#define COUNTER(metric, key) metric, key, OPENMETRICS_COUNTER
#define GAUGE(metric, key)   metric, key, OPENMETRICS_GAUGE

/* In /glb/stats. */
const struct fact view_port_facts[] = {
	{"port", NULL, OPENMETRICS_INFO, .help = "the ports that the director uses"},
	{GAUGE("port_running", NULL), AT(running), "1 unless the port is being reset or was removed"},
	{GAUGE("port_up", NULL), AT(link.up), "1 if the link is up"},
	{GAUGE("port_speed_bytes", NULL), AT(link_bytes), "speed of the link in bytes per second"},
	{GAUGE(NULL, "mbps"), AT(link.mbps), "speed of the link in Mbit/s"},
	{COUNTER("port_received_packets", "rx_packets"), AT(stats.ipackets),
		"frames that the port received, as its driver counts"},
	{COUNTER("port_received_bytes", NULL), AT(stats.ibytes), "bytes of these frames"},
	{COUNTER("port_rx_missed_packets", "rx_missed"), AT(stats.imissed),
		"frames that the port dropped because its receive queues were full"},
	{COUNTER("port_rx_errors", "rx_errors"), AT(stats.ierrors), "received frames with errors"},
	{COUNTER("port_rx_no_mbuf_packets", "rx_no_buffer"), AT(stats.rx_nombuf),
		"frames that were not received because no buffer was free"},
	{COUNTER("port_transmitted_packets", "tx_packets"), AT(stats.opackets),
		"frames that the port sent, as its driver counts"},
	{COUNTER("port_transmitted_bytes", NULL), AT(stats.obytes), "bytes of these frames"},
	{COUNTER("port_tx_errors", "tx_errors"), AT(stats.oerrors), "frames that the port failed to send"},
	{GAUGE("port_mbufs", NULL), AT(mbufs), "frame buffers of the port"},
	{GAUGE("port_mbufs_in_use", NULL), AT(mbufs_in_use), "frame buffers of the port that are in use"},
	{0},
};

/* In /glb/health. */
const struct fact view_port_event_facts[] = {
#define X(event, dpdk, counter, text)                                                               \
	{COUNTER("port_events", counter), AT(events[PORT_EVENT_##event]), text, {"event", counter}, \
		"events that the driver has reported"},
	PORT_EVENTS_LIST(X)
#undef X
		{COUNTER("port_resets", "resets"), AT(resets), "resets after which the port was in use again"},
	{COUNTER("port_reset_failures", "reset_failures"), AT(reset_failures), "attempts to reset the port that failed"},
	{COUNTER("port_attaches", "attaches"), AT(attaches), "times that a removed device was back and in use again"},
	{0},
};

#define QUEUE(metric) metric, NULL, OPENMETRICS_COUNTER, FACTS_AT(struct view_queue, value)

const struct fact view_queue_facts[] = {
	{QUEUE("queue_received_packets"), "frames received on a queue, if the driver counts them"},
	{QUEUE("queue_received_bytes"), "bytes of these frames"},
	{QUEUE("queue_transmitted_packets"), "frames sent on a queue, if the driver counts them"},
	{QUEUE("queue_transmitted_bytes"), "bytes of these frames"},
	{0},
};

/* ethdev and most drivers name these counters `start`, the number of the queue, and `end`: "rx_q0_packets". */
static const struct {
	const char *start, *end;
} queue_names[VIEW_QUEUE_KINDS] = {{"rx_q", "_packets"}, {"rx_q", "_bytes"}, {"tx_q", "_packets"}, {"tx_q", "_bytes"}};

static const char *const states[] = {
	[PORT_RUNNING] = "running",
	[PORT_RECOVERING] = "recovering",
	[PORT_RESETTING] = "resetting",
	[PORT_REMOVING] = "removed",
	[PORT_REMOVED] = "removed",
};

struct view_port view_port(const struct director *director, uint16_t index)
{
	const struct port *port = &director->ports.list[index];
	uint8_t state = __atomic_load_n(&port->state, __ATOMIC_RELAXED);
	struct view_port view = {
		.id = port->id,
		.used = port_is_used(port),
		.name = port->name,
		.driver = port->info.driver_name,
		.state = states[state],
		.running = state == PORT_RUNNING,
		.link = link_load(port),
		.resets = __atomic_load_n(&port->resets, __ATOMIC_RELAXED),
		.reset_failures = __atomic_load_n(&port->reset_failures, __ATOMIC_RELAXED),
		.attaches = __atomic_load_n(&port->attaches, __ATOMIC_RELAXED),
		.mbufs = port->pool ? port->pool->size : 0,
		.mbufs_in_use = port->pool ? rte_mempool_in_use_count(port->pool) : 0,
	};

	view.link_bytes = view.link.up && view.link.mbps ? view.link.mbps * 125e3 : (double)NAN;
	for (unsigned i = 0; i < PORT_EVENT_COUNT; i++)
		view.events[i] = __atomic_load_n(&director->ports.events[index].counts[i], __ATOMIC_RELAXED);
	rte_ether_format_addr(view.mac, sizeof(view.mac), &port->mac);
	for (char *at = view.mac; *at; at++) /* as everywhere else */
		*at = (char)(*at >= 'A' && *at <= 'F' ? *at - 'A' + 'a' : *at);
	return view;
}

struct view_port view_port_counted(struct director *director, uint16_t index)
{
	struct port *port = &director->ports.list[index];
	struct view_port view = view_port(director, index);

	pthread_mutex_lock(&director->ports.lock); /* so that the port is not reset meanwhile */
	if (port_is_running(port) && rte_eth_stats_get(port->id, &view.stats) == 0)
		port->stats = view.stats;
	view.stats = port->stats;
	pthread_mutex_unlock(&director->ports.lock);
	return view;
}

/* Adds a counter of the driver if it is one of a queue. */
static void add_queue(struct view *view, const struct port *port, uint16_t index, const char *name, uint64_t value)
{
	for (uint8_t kind = 0; kind < VIEW_QUEUE_KINDS; kind++) {
		const char *start = queue_names[kind].start, *at = name + strlen(start);
		uint32_t queue, queues = start[0] == 'r' ? port->rx_queues : port->tx_queues;

		if (strncmp(name, start, strlen(start)) == 0 && text_take_number(&at, 0, PORT_MAX_QUEUES, &queue) &&
			strcmp(at, queue_names[kind].end) == 0 && queue < queues)
			view->queues[view->queue_count++] = (struct view_queue){
				.port = index, .queue = (uint16_t)queue, .kind = kind, .value = value};
	}
}

/* Returns the number of the driver's own counters, or 0. The caller frees *names and *values. ports.lock is held. */
static int read_xstats(uint16_t port, struct rte_eth_xstat_name **names, struct rte_eth_xstat **values)
{
	int count = rte_eth_xstats_get_names(port, NULL, 0);

	if (count <= 0)
		return 0;
	*names = calloc((size_t)count, sizeof(**names));
	*values = calloc((size_t)count, sizeof(**values));
	if (!*names || !*values || rte_eth_xstats_get_names(port, *names, (unsigned)count) != count ||
		rte_eth_xstats_get(port, *values, (unsigned)count) != count)
		return 0;
	return count;
}

void view_add_queues(struct view *view, struct director *director, uint16_t index)
{
	const struct port *port = &director->ports.list[index];
	struct rte_eth_xstat_name *names = NULL;
	struct rte_eth_xstat *values = NULL;
	struct view_queue *queues;
	int count;

	pthread_mutex_lock(&director->ports.lock);
	view->left_out |= !port_is_running(port);
	count = port_is_running(port) ? read_xstats(port->id, &names, &values) : 0;
	pthread_mutex_unlock(&director->ports.lock);
	queues = count ? realloc(view->queues, (view->queue_count + (size_t)count) * sizeof(*queues)) : NULL;
	if (queues) {
		view->queues = queues;
		for (int i = 0; i < count; i++)
			add_queue(view, port, index, names[values[i].id].name, values[i].value);
	}
	free(names);
	free(values);
}
