/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "director/telemetry/telemetry_reply.h"
#include "director/view/view.h"

static void add_fields(struct rte_tel_data *data, const char *key, uint8_t fields)
{
	char text[48] = "";

	for (unsigned i = 0; i < STEERING_FIELD_COUNT; i++)
		if (fields >> i & 1)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", text[0] ? ", " : "",
				steering_field_names[i]);
	rte_tel_data_add_dict_string(data, key, text);
}

/* Returns "several", "unknown", or the only MAC of all sets. */
static const char *next_hop_mac(const struct view *view)
{
	const char *found = view->sets[0].summary.mac;

	for (uint32_t i = 1; i < view->set_count; i++) {
		const char *mac = view->sets[i].summary.mac;

		if (strcmp(found, "unknown") == 0)
			found = mac;
		else if (strcmp(mac, "unknown") != 0 && strcmp(mac, found) != 0)
			found = "several";
	}
	return found;
}

static void add_state(struct rte_tel_data *data, const struct director *director, const struct view *view)
{
	char path[RELOAD_ERROR_SIZE]; /* lcores_that_fit() leaves no room for more */

	snprintf(path, sizeof(path), "%s", view->routes.path);
	rte_tel_data_add_dict_string(data, "version", GLB_VERSION);
	rte_tel_data_add_dict_uint(data, "uptime", (clock_now_ns() - director->started_ns) / CLOCK_NS_PER_S);
	rte_tel_data_add_dict_string(data, "next_hop_mac", next_hop_mac(view));
	rte_tel_data_add_dict_string(data, "packet_path", isa_name(view->isa->isa));
	rte_tel_data_add_dict_string(data, "packet_path_why", view->isa->why);
	add_fields(data, "hash_fields", director->conf.steering.hash_fields);
	add_fields(data, "alt_hash_fields", director->conf.steering.alt_hash_fields);
	telemetry_reply_facts(data, view_routes_facts, &view->routes);
	telemetry_reply_text(data, "slow", view->routes.slow);
	telemetry_reply_text(data, "last_error", view->routes.last_error);
	rte_tel_data_add_dict_string(data, "digest", view->routes.digest);
	rte_tel_data_add_dict_string(data, "first_hops", view->routes.first_hops);
	rte_tel_data_add_dict_string(data, "fingerprint", view->fingerprint);
	telemetry_reply_text(data, "table_path", path);
	rte_tel_data_add_dict_string(data, "table_format", view->routes.format);
}

static struct rte_tel_data *describe_lcore(const struct view_lcore *lcore)
{
	struct rte_tel_data *data = telemetry_reply_part();

	if (data)
		telemetry_reply_facts(data, counters_facts, &lcore->counters);
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
	int fit = (TELEMETRY_REPLY_SIZE - STATE_SIZE - counters - path - director->ports.count * PORT_SIZE) /
		  (counters + VALUE_SIZE);

	fit = RTE_MIN(fit, (int)MAX_LCORES);
	return (uint16_t)RTE_MIN(fit, (int)director->workers.count);
}

int telemetry_stats(struct director *director, const char *parameters __rte_unused, struct rte_tel_data *data)
{
	uint16_t lcore_count = lcores_that_fit(director);
	struct view *view = view_take(director, false);
	struct rte_tel_data *lcores, *ports;

	if (!view)
		return -ENOMEM;
	lcores = telemetry_reply_part();
	ports = telemetry_reply_part();
	rte_tel_data_start_dict(data);
	telemetry_reply_facts(data, counters_facts, &view->sum);
	add_state(data, director, view);
	telemetry_reply_facts(data, capture_facts, &view->capture);
	for (uint16_t i = 0; i < view->port_count; i++)
		telemetry_reply_numbered(ports, view->ports[i].id, describe_port(&view->ports[i]));
	for (uint16_t i = 0; i < lcore_count; i++)
		telemetry_reply_numbered(lcores, view->lcores[i].lcore, describe_lcore(&view->lcores[i]));
	telemetry_reply_add(data, "ports", ports);
	telemetry_reply_add(data, "lcores", lcores);
	rte_tel_data_add_dict_int(data, "truncated", view->lcore_count > lcore_count);
	view_free(view);
	return 0;
}
