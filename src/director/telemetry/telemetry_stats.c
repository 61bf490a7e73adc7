/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "director/telemetry/telemetry_reply.h"
#include "director/view/view.h"
#include "director/workers.h"
#include "packet/slow.h"

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
	telemetry_reply_text(data, "slow", live->slow);
}

/* Returns "several", "unknown", or the only MAC of all sets. */
static const char *next_hop_mac(const struct director *director, struct view_set *found)
{
	*found = view_set(director, 0);
	for (uint32_t i = 1; i < view_set_count(director); i++) {
		struct view_set set = view_set(director, i);
		const char *mac = set.summary.mac;

		if (strcmp(found->summary.mac, "unknown") == 0)
			*found = set;
		else if (strcmp(mac, "unknown") != 0 && strcmp(mac, found->summary.mac) != 0)
			strcpy(found->summary.mac, "several");
	}
	return found->summary.mac;
}

static void add_state(struct rte_tel_data *data, struct director *director)
{
	struct reload *reload = &director->reload;
	const struct live_table *live;
	struct view_routes routes;
	struct view_set set;

	rte_tel_data_add_dict_string(data, "version", GLB_VERSION);
	rte_tel_data_add_dict_uint(data, "uptime", (clock_now_ns() - director->started_ns) / CLOCK_NS_PER_S);
	rte_tel_data_add_dict_string(data, "next_hop_mac", next_hop_mac(director, &set));
	rte_tel_data_add_dict_string(data, "packet_path", isa_name(director->isa.isa));
	rte_tel_data_add_dict_string(data, "packet_path_why", director->isa.why);
	add_fields(data, "hash_fields", director->conf.steering.hash_fields);
	add_fields(data, "alt_hash_fields", director->conf.steering.alt_hash_fields);
	live = reload_lock(reload);
	routes = view_routes(reload);
	add_speed(data, live);
	telemetry_reply_hex(data, "fingerprint", table_set_fingerprint(&live->routes->set));
	telemetry_reply_text(data, "last_error", reload->last_error);
	reload_unlock(reload);
	telemetry_reply_facts(data, view_routes_facts, &routes);
	rte_tel_data_add_dict_string(data, "digest", routes.digest);
	telemetry_reply_text(data, "table_path", routes.path);
	rte_tel_data_add_dict_string(data, "table_format", routes.format);
}

static struct rte_tel_data *describe_lcore(const struct worker *worker)
{
	struct rte_tel_data *data = telemetry_reply_part();
	struct view_lcore lcore = view_lcore(worker);

	if (data)
		telemetry_reply_facts(data, counters_facts, &lcore.counters);
	return data;
}

static struct rte_tel_data *describe_port(const struct view_port *port)
{
	struct rte_tel_data *data = telemetry_reply_part();

	if (!data)
		return NULL;
	rte_tel_data_add_dict_string(data, "name", port->name);
	rte_tel_data_add_dict_string(data, "link", port->link.up ? "up" : "down");
	telemetry_reply_facts(data, view_port_facts, port);
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
	int size = 0;

	for (const struct fact *fact = counters_facts; fact->key; fact++)
		size += (int)strlen(fact->key) + VALUE_SIZE;
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
	struct rte_tel_data *lcores = telemetry_reply_part(), *ports = telemetry_reply_part();
	struct capture_state capture = capture_state(director->capture);
	uint16_t lcore_count = lcores_that_fit(director);
	struct counters sum;

	rte_tel_data_start_dict(data);
	workers_sum(director, &sum);
	telemetry_reply_facts(data, counters_facts, &sum);
	add_state(data, director);
	telemetry_reply_facts(data, capture_facts, &capture);
	for (uint16_t i = 0; i < director->port_count; i++) {
		struct view_port port = view_port_counted(director, i);

		telemetry_reply_numbered(ports, port.id, describe_port(&port));
	}
	for (uint16_t i = 0; i < lcore_count; i++)
		telemetry_reply_numbered(lcores, director->workers[i]->lcore, describe_lcore(director->workers[i]));
	telemetry_reply_add(data, "ports", ports);
	telemetry_reply_add(data, "lcores", lcores);
	rte_tel_data_add_dict_int(data, "truncated", director->worker_count > lcore_count);
	return 0;
}
