/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_commands.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "director/telemetry/telemetry_reply.h"
#include "packet/steer.h"

#define USAGE "expected SRC,SPORT,DST,DPORT,PROTO; PROTO is tcp, udp, or icmp (an echo request, with ports 0)"

static bool parse_port(const char *text, uint16_t *port)
{
	uint32_t value;

	if (!text_number(text, 0, UINT16_MAX, &value))
		return false;
	*port = (uint16_t)value;
	return true;
}

static bool parse_protocol(const char *text, struct flow *flow)
{
	flow->kind = text && strcmp(text, "icmp") == 0 ? FLOW_ECHO : FLOW_TRANSPORT;
	if (!text)
		return false;
	flow->protocol = strcmp(text, "tcp") == 0 ? TABLE_TCP : strcmp(text, "udp") == 0 ? TABLE_UDP : 0;
	return flow->protocol || flow->kind == FLOW_ECHO;
}

/* "SRC,SPORT,DST,DPORT,PROTO" */
static bool parse(const char *parameters, struct flow *flow)
{
	char copy[256], *rest = copy, *fields[5];
	struct netaddr source, destination;

	*flow = (struct flow){0};
	if (!parameters || snprintf(copy, sizeof(copy), "%s", parameters) >= (int)sizeof(copy))
		return false;
	for (unsigned i = 0; i < 5; i++)
		fields[i] = strsep(&rest, ",");
	if (!fields[4] || rest || !netaddr_parse(fields[0], &source) || !netaddr_parse(fields[2], &destination) ||
		source.family != destination.family || !parse_port(fields[1], &flow->source_port) ||
		!parse_port(fields[3], &flow->destination_port) || !parse_protocol(fields[4], flow))
		return false;
	flow->family = source.family;
	flow->hint = flow->source_port;
	memcpy(flow->source, source.bytes, sizeof(flow->source));
	memcpy(flow->destination, destination.bytes, sizeof(flow->destination));
	flow->martian = flow_is_martian(flow->family, flow->source, flow->destination);
	if (flow->kind == FLOW_ECHO)
		flow->source_port = flow->destination_port = 0;
	return true;
}

static void add_hops(struct rte_tel_data *data, const struct steer_result *result, const struct routes *routes)
{
	struct rte_tel_data *hops = rte_tel_data_alloc();

	if (!hops)
		return;
	rte_tel_data_start_array(hops, RTE_TEL_STRING_VAL);
	for (unsigned i = 0; i < result->hop_count; i++) {
		struct netaddr hop = routes_hop(routes, (uint16_t)result->table, result->hops[i]);
		char address[NETADDR_TEXT_MAX];

		rte_tel_data_add_array_string(hops, netaddr_format(&hop, address));
	}
	rte_tel_data_add_dict_container(data, "hops", hops, 0);
}

/* The outer source port of a ping depends on its identification or flow label, and with it the choice among several
 * next hops. */
static enum verdict add_next_hops(struct rte_tel_data *data, const struct director *director, const struct flow *flow,
	const struct steer_result *result, const struct netaddr *first)
{
	bool is_ping = flow->kind == FLOW_ECHO;

	if (result->verdict != VERDICT_FORWARDED ||
		telemetry_packet_next_hops(
			director, first, steer_source_port(result->hash, flow->hint), is_ping ? NULL : data))
		return result->verdict;
	return VERDICT_DROP_NO_NEXT_HOP;
}

static void add_reply(struct rte_tel_data *data, const struct flow *flow, const struct steer_result *result,
	const struct live_table *live)
{
	char label[16];

	rte_tel_data_add_dict_uint(data, "generation", live->generation);
	if (result->verdict != VERDICT_FORWARDED)
		return;
	rte_tel_data_add_dict_uint(data, "table", result->table);
	telemetry_reply_text(data, "table_name", table_label(&live->routes->set, result->table, label));
	telemetry_reply_hex(data, "hash", result->hash);
	rte_tel_data_add_dict_uint(data, "row", result->row);
	if (flow->kind == FLOW_TRANSPORT)
		rte_tel_data_add_dict_uint(data, "outer_source_port", steer_source_port(result->hash, flow->hint));
	add_hops(data, result, live->routes);
}

int telemetry_lookup(struct director *director, const char *parameters, struct rte_tel_data *data)
{
	const struct steering_config *steering = &director->conf.steering;
	const struct live_table *live;
	struct steer_result result;
	struct netaddr first = {0};
	struct flow flow;

	if (!parse(parameters, &flow))
		return telemetry_reply_error(data, USAGE);
	rte_tel_data_start_dict(data);
	live = reload_lock(&director->reload);
	result = steer_flow(&flow, live->routes, steering);
	add_reply(data, &flow, &result, live);
	if (result.verdict == VERDICT_FORWARDED)
		first = routes_hop(live->routes, (uint16_t)result.table, result.hops[0]);
	reload_unlock(&director->reload);
	rte_tel_data_add_dict_uint(data, "source_port_hashed",
		((steering->hash_fields | steering->alt_hash_fields) & STEERING_SOURCE_PORT) != 0);
	rte_tel_data_add_dict_string(
		data, "verdict", verdict_name(add_next_hops(data, director, &flow, &result, &first)));
	return 0;
}
