/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/telemetry_commands.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "director/control/telemetry_reply.h"
#include "gue/gue_wire.h"
#include "packet/steer.h"

#define USAGE "expected SRC,SPORT,DST,DPORT,PROTO; PROTO is tcp, udp, or icmp (an echo request, with ports 0)"

static bool parse_port(const char *text, uint16_t *port)
{
	char *end;
	unsigned long value = text ? strtoul(text, &end, 10) : 65536;

	*port = (uint16_t)value;
	return text && *text && !*end && value <= UINT16_MAX;
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
	if (flow->kind == FLOW_ECHO)
		flow->source_port = flow->destination_port = 0;
	return true;
}

static void add_hops(struct rte_tel_data *data, const struct burst *burst)
{
	struct rte_tel_data *hops = rte_tel_data_alloc();

	if (!hops)
		return;
	rte_tel_data_start_array(hops, RTE_TEL_STRING_VAL);
	for (unsigned i = 0; i < burst->hop_count[0]; i++) {
		char address[INET_ADDRSTRLEN];

		inet_ntop(AF_INET, &burst->hops[0][i], address, sizeof(address));
		rte_tel_data_add_array_string(hops, address);
	}
	rte_tel_data_add_dict_container(data, "hops", hops, 0);
}

static void add_reply(struct rte_tel_data *data, const struct burst *burst, const struct live_table *live)
{
	uint8_t verdict = burst->verdict[0];
	char text[32];

	rte_tel_data_add_dict_string(data, "verdict", verdict_name(verdict));
	rte_tel_data_add_dict_uint(data, "generation", live->generation);
	if (verdict != VERDICT_FORWARDED)
		return;
	rte_tel_data_add_dict_uint(data, "table", burst->table[0]);
	telemetry_reply_text(data, "table_name", table_label(&live->routes->set, burst->table[0], text));
	snprintf(text, sizeof(text), "%016" PRIx64, burst->hash[0]);
	rte_tel_data_add_dict_string(data, "hash", text);
	rte_tel_data_add_dict_uint(data, "row", burst->row[0]);
	if (burst->kind[0] == FLOW_TRANSPORT) /* for a ping it depends on the identifier */
		rte_tel_data_add_dict_uint(
			data, "outer_source_port", GUE_PORT_SOURCE_BIT | (uint16_t)(burst->hash[0] ^ burst->hint[0]));
	add_hops(data, burst);
}

int telemetry_lookup(struct director *director, const char *parameters, struct rte_tel_data *data)
{
	const struct steering_config *steering = &director->conf.steering;
	struct reload *reload = &director->reload;
	struct burst *burst = calloc(1, sizeof(*burst));
	struct flow flow;

	if (!burst)
		return -ENOMEM;
	if (!parse(parameters, &flow)) {
		free(burst);
		return telemetry_reply_error(data, USAGE);
	}
	burst->count = 1;
	burst_set_flow(burst, 0, VERDICT_FORWARDED, &flow);
	if (flow.kind == FLOW_ECHO && !steering->forward_ping)
		burst->verdict[0] = VERDICT_DROP_UNMATCHED;
	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&reload->lock);
	steer_classify(burst, burst_lanes(burst), reload->shared->live->routes, steering);
	steer_hash(burst, burst_lanes(burst), reload->shared->live->routes, steering);
	steer_hops(burst, burst_lanes(burst), reload->shared->live->routes, steering);
	if (burst->verdict[0] == VERDICT_DROP_UNMATCHED && steering->exception_path)
		burst->verdict[0] = VERDICT_EXCEPTION;
	add_reply(data, burst, reload->shared->live);
	pthread_mutex_unlock(&reload->lock);
	free(burst);
	return 0;
}
