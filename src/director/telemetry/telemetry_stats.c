/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "director/capture/capture.h"
#include "director/telemetry/telemetry_reply.h"
#include "director/ports/link.h"
#include "director/workers.h"
#include "packet/slow.h"
#include "worker/worker.h"

static void add_counters(struct rte_tel_data *data, const struct counters *counters)
{
	struct counters_value values[COUNTERS_VALUES];
	unsigned count = counters_list(counters, values);

	for (unsigned i = 0; i < count; i++)
		rte_tel_data_add_dict_uint(data, values[i].name, values[i].value);
}

static void add_fields(struct rte_tel_data *data, const char *key, uint8_t fields)
{
	char text[48] = "";

	for (unsigned i = 0; i < STEERING_FIELD_COUNT; i++)
		if (fields >> i & 1)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", text[0] ? ", " : "",
				steering_field_names[i]);
	rte_tel_data_add_dict_string(data, key, text);
}

/* Adds the properties of the table that decide how fast packets are. */
static void add_speed(struct rte_tel_data *data, const struct live_table *live)
{
	const struct portmap *portmap = live->routes->portmap;
	char text[SLOW_LENGTHS_TEXT];

	rte_tel_data_add_dict_uint(data, "classifier_bytes", routes_classifier_memory(live->routes));
	rte_tel_data_add_dict_uint(data, "prefix_lengths_ipv4", slow_lengths(portmap, NETADDR_V4, text));
	rte_tel_data_add_dict_uint(data, "prefix_lengths_ipv6", slow_lengths(portmap, NETADDR_V6, text));
	rte_tel_data_add_dict_uint(data, "port_maps", portmap->map_count - PORTMAP_CONSTANTS);
	rte_tel_data_add_dict_uint(data, "misfit_prefixes", portmap->misfits);
	snprintf(text, sizeof(text), "%s", live->slow);
	telemetry_reply_text(data, "slow", text);
}

/* The table's file, and what it is. */
static void add_table(struct rte_tel_data *data, const struct reload *reload)
{
	const struct live_table *live = reload->shared->live;
	char text[RELOAD_ERROR_SIZE];

	snprintf(text, sizeof(text), "%016" PRIx64, table_set_fingerprint(&live->routes->set));
	rte_tel_data_add_dict_string(data, "fingerprint", text);
	snprintf(text, sizeof(text), "%s", reload->path);
	telemetry_reply_text(data, "table_path", text);
	rte_tel_data_add_dict_string(data, "table_format", reload_format_name(live));
}

static void add_state(struct rte_tel_data *data, struct director *director)
{
	struct reload *reload = &director->reload;
	char text[32];

	rte_tel_data_add_dict_string(data, "version", GLB_VERSION);
	rte_tel_data_add_dict_uint(data, "uptime", (clock_now_ns() - director->started_ns) / CLOCK_NS_PER_S);
	rte_tel_data_add_dict_string(data, "next_hop_mac", telemetry_next_hop_mac(director, text));
	rte_tel_data_add_dict_string(data, "packet_path", isa_name(director->isa.isa));
	rte_tel_data_add_dict_string(data, "packet_path_why", director->isa.why);
	add_fields(data, "hash_fields", director->conf.steering.hash_fields);
	add_fields(data, "alt_hash_fields", director->conf.steering.alt_hash_fields);
	pthread_mutex_lock(&reload->lock);
	add_speed(data, reload->shared->live);
	rte_tel_data_add_dict_uint(data, "generation", reload->shared->live->generation);
	snprintf(text, sizeof(text), "%016" PRIx64, reload->shared->live->routes->digest);
	rte_tel_data_add_dict_string(data, "digest", text);
	add_table(data, reload);
	rte_tel_data_add_dict_uint(data, "reloads", reload->reloads);
	rte_tel_data_add_dict_uint(data, "reload_failures", reload->failures);
	telemetry_reply_text(data, "last_error", reload->last_error);
	pthread_mutex_unlock(&reload->lock);
}

/* Adds who captures packets, and how that goes. */
static void add_capture(struct rte_tel_data *data, const struct director *director)
{
	struct capture_state state = capture_state(director->capture);

	rte_tel_data_add_dict_int(data, "capture", state.running);
	rte_tel_data_add_dict_uint(data, "capture_pid", (uint64_t)state.pid);
	rte_tel_data_add_dict_uint(data, "capture_uid", state.uid);
	rte_tel_data_add_dict_uint(data, "capture_since", state.since);
	rte_tel_data_add_dict_uint(data, "capture_matched", state.counters.matched);
	rte_tel_data_add_dict_uint(data, "capture_lost", state.counters.lost);
	rte_tel_data_add_dict_uint(data, "capture_skipped", state.counters.skipped);
}

static struct rte_tel_data *describe_lcore(const struct worker *worker)
{
	struct rte_tel_data *lcore = rte_tel_data_alloc();
	struct counters counters = {0};

	if (!lcore)
		return NULL;
	rte_tel_data_start_dict(lcore);
	counters_sum(&counters, &worker->counters);
	add_counters(lcore, &counters);
	return lcore;
}

static struct rte_tel_data *describe_port(struct director *director, uint16_t index)
{
	const struct port *port = &director->ports[index];
	struct rte_tel_data *data = rte_tel_data_alloc();
	struct rte_eth_stats stats;
	struct link link = link_load(port);

	if (!data)
		return NULL;
	director_port_stats(director, index, &stats);
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "name", port->name);
	rte_tel_data_add_dict_string(data, "link", link.up ? "up" : "down");
	rte_tel_data_add_dict_uint(data, "mbps", link.mbps);
	rte_tel_data_add_dict_uint(data, "rx_packets", stats.ipackets);
	rte_tel_data_add_dict_uint(data, "rx_missed", stats.imissed);
	rte_tel_data_add_dict_uint(data, "rx_errors", stats.ierrors);
	rte_tel_data_add_dict_uint(data, "rx_no_buffer", stats.rx_nombuf);
	rte_tel_data_add_dict_uint(data, "tx_packets", stats.opackets);
	rte_tel_data_add_dict_uint(data, "tx_errors", stats.oerrors);
	return data;
}

/* Bytes of JSON in a reply. */
enum {
	/* The state and the capture, with an error of RELOAD_ERROR_SIZE and a full `slow`, without table_path */
	STATE_SIZE = 2910,
	PORT_SIZE = 250,
	VALUE_SIZE = 19, /* of a counter, without its name: 15 digits, which it has after years, and punctuation */
};

#define MAX_LCORES 16

static int counters_size(void)
{
	static const struct counters none;
	struct counters_value values[COUNTERS_VALUES];
	unsigned count = counters_list(&none, values);
	int size = 0;

	for (unsigned i = 0; i < count; i++)
		size += (int)strlen(values[i].name) + VALUE_SIZE;
	return size;
}

static uint16_t lcores_that_fit(const struct director *director)
{
	int counters = counters_size(); /* of each lcore, and of the sums */
	/* Escaped, and in pieces */
	int path = 2 * (int)RTE_MIN(strlen(director->reload.path), (size_t)RELOAD_ERROR_SIZE);
	int fit = (TELEMETRY_REPLY_SIZE - STATE_SIZE - counters - path - director->port_count * PORT_SIZE) /
		  (counters + VALUE_SIZE);

	fit = RTE_MIN(fit, (int)MAX_LCORES);
	return (uint16_t)RTE_MIN(fit, (int)director->worker_count);
}

int telemetry_stats(struct director *director, const char *parameters __rte_unused, struct rte_tel_data *data)
{
	struct rte_tel_data *lcores = rte_tel_data_alloc(), *ports = rte_tel_data_alloc();
	uint16_t lcore_count = lcores_that_fit(director);
	struct counters sum;

	if (!lcores || !ports) {
		rte_tel_data_free(lcores);
		rte_tel_data_free(ports);
		return -ENOMEM;
	}
	rte_tel_data_start_dict(data);
	rte_tel_data_start_dict(lcores);
	rte_tel_data_start_dict(ports);
	workers_sum(director, &sum);
	add_counters(data, &sum);
	add_state(data, director);
	add_capture(data, director);
	for (uint16_t i = 0; i < director->port_count; i++)
		telemetry_reply_numbered(ports, director->ports[i].id, describe_port(director, i));
	for (uint16_t i = 0; i < lcore_count; i++)
		telemetry_reply_numbered(lcores, director->workers[i]->lcore, describe_lcore(director->workers[i]));
	rte_tel_data_add_dict_container(data, "ports", ports, 0);
	rte_tel_data_add_dict_container(data, "lcores", lcores, 0);
	rte_tel_data_add_dict_int(data, "truncated", director->worker_count > lcore_count);
	return 0;
}
