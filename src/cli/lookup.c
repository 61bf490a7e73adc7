/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "cli/cli.h"
#include "cli/explain.h"
#include "cli/live/live.h"
#include "common/endpoint.h"
#include "common/text.h"
#include "gue/gue_wire.h"
#include "packet/steer.h"
#include "program/installed.h"

enum { CONFIG = LIVE_OPTIONS, PROTO, HINT, QUIC_DCID, JSON };

static const struct command_option options[] = {
	LIVE_OPTION_LIST,
	[CONFIG] = {"config", "FILE", "director.conf", INSTALLED_DIRECTOR_CONF},
	[PROTO] = {"proto", "tcp|udp|icmp", "tcp, udp, or icmp for an echo request", "tcp"},
	[HINT] = {"hint", "N", "echo request's IPv4 identification or IPv6 flow label", NULL, 0, UINT16_MAX},
	[QUIC_DCID] = {"quic-dcid", "HEX", "destination connection ID of a QUIC packet; needs --proto udp"},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

struct lookup {
	struct conf conf;
	struct routes *routes;
	struct explainer *explainer;
	const char *protocol;
	struct endpoint source, destination;
	bool hint_known;
	struct flow flow;
	uint8_t payload[1 + UINT8_MAX]; /* a short header, then the connection ID of --quic-dcid */
	struct steer_result result;
	uint16_t alt_row; /* the row by alt_hash_fields */
};

/* A hop, and the row that it comes from. */
struct hop {
	const struct table_backend *backend;
	uint16_t row;
	bool alt;
	char reason[EXPLAIN_MAX];
};

static const struct table *found_table(const struct lookup *lookup)
{
	return &lookup->routes->set.tables[lookup->result.table];
}

static bool needs_source_port(const struct steering_config *steering)
{
	return (steering->hash_fields | steering->alt_hash_fields) & STEERING_SOURCE_PORT;
}

/* Without brackets, a port is read as the end of an IPv6 address. */
static const char *brackets_hint(const struct endpoint *endpoint)
{
	bool needed = endpoint->addr.family == NETADDR_V6 && !endpoint->has_port;

	return needed ? " (IPv6 with a port is [ADDRESS]:PORT)" : "";
}

/* Fills the lookup from the command line. Returns COMMAND_OK, or the exit code after an error message. */
static int parse(const struct command_args *args, struct lookup *lookup)
{
	const char *source = args->operands[args->count - 2], *destination = args->operands[args->count - 1];
	bool icmp;

	lookup->protocol = args->values[PROTO];
	icmp = strcmp(lookup->protocol, "icmp") == 0;
	if (!endpoint_parse(source, &lookup->source))
		return command_usage("lookup: SRC: '%s' is not ADDRESS or ADDRESS:PORT", source);
	if (!endpoint_parse(destination, &lookup->destination))
		return command_usage("lookup: DST: '%s' is not ADDRESS or ADDRESS:PORT", destination);
	if (lookup->source.addr.family != lookup->destination.addr.family)
		return command_usage("lookup: '%s' and '%s' have different address families%s%s", source, destination,
			brackets_hint(&lookup->source), brackets_hint(&lookup->destination));
	if (icmp && (lookup->source.has_port || lookup->destination.has_port))
		return command_usage("lookup: echo requests have no ports: give addresses only");
	if (!icmp && !lookup->destination.has_port)
		return command_usage("lookup: DST: '%s' has no port; %s needs one%s", destination, lookup->protocol,
			brackets_hint(&lookup->destination));
	if (!icmp && args->options[HINT])
		return command_usage(
			"lookup: --hint is only for --proto icmp; the hint of TCP and UDP is the source port");
	return COMMAND_OK;
}

/* Gives the flow the connection ID of --quic-dcid. Returns COMMAND_OK, or the exit code after an error message. */
static int set_connection_id(const struct command_args *args, struct lookup *lookup)
{
	const char *hex = args->options[QUIC_DCID];
	size_t size = hex ? strlen(hex) / 2 : 0;

	if (!hex)
		return COMMAND_OK;
	if (strcmp(lookup->protocol, "udp") != 0)
		return command_usage("lookup: --quic-dcid needs --proto udp");
	if (size == 0 || size >= sizeof(lookup->payload) || !text_bytes(hex, lookup->payload + 1, size))
		return command_usage("lookup: --quic-dcid: '%s' is not 1 to %u bytes in hex", hex, UINT8_MAX);
	lookup->flow.payload = lookup->payload;
	lookup->flow.payload_size = (uint32_t)size + 1;
	return COMMAND_OK;
}

/*
 * Fills the flow in the same way as flow_parse() does for a packet. Returns COMMAND_OK, or the exit code
 * after an error message.
 */
static int make_flow(const struct command_args *args, struct lookup *lookup)
{
	bool icmp = strcmp(lookup->protocol, "icmp") == 0;

	if (!icmp && !lookup->source.has_port && needs_source_port(&lookup->conf.steering))
		return command_usage(
			"lookup: SRC: '%s' has no port, but the configured hash includes it", args->operands[1]);
	lookup->hint_known = args->options[HINT] || lookup->source.has_port;
	lookup->flow = (struct flow){
		.family = lookup->source.addr.family,
		.kind = icmp ? FLOW_ECHO : FLOW_TRANSPORT,
		.protocol = strcmp(lookup->protocol, "udp") == 0 ? TABLE_UDP : TABLE_TCP,
		.source_port = lookup->source.port,
		.destination_port = lookup->destination.port,
		.hint = args->options[HINT] ? (uint16_t)args->numbers[HINT] : lookup->source.port,
	};
	memcpy(lookup->flow.source, lookup->source.addr.bytes, 16);
	memcpy(lookup->flow.destination, lookup->destination.addr.bytes, 16);
	lookup->flow.martian = flow_is_martian(lookup->flow.family, lookup->flow.source, lookup->flow.destination);
	return set_connection_id(args, lookup);
}

static void steer(struct lookup *lookup)
{
	uint8_t alt = lookup->conf.steering.alt_hash_fields;

	lookup->result = steer_flow(&lookup->flow, lookup->routes, &lookup->conf.steering);
	if (lookup->result.verdict == VERDICT_FORWARDED && alt)
		lookup->alt_row = (uint16_t)steer_hash(&lookup->flow, lookup->routes, lookup->result.table, alt);
}

/* Returns the table's first bind that matches the flow, which was forwarded. */
static const struct table_bind *find_bind(const struct lookup *lookup)
{
	return &found_table(lookup)->binds[classify_bind(steer_find_bind(&lookup->flow, lookup->routes))];
}

static const char *why_not_forwarded(const struct lookup *lookup)
{
	if (lookup->result.verdict == VERDICT_DROP_MARTIAN)
		return verdict_help(VERDICT_DROP_MARTIAN);
	return explain_unmatched(&lookup->flow, lookup->routes, &lookup->conf.steering);
}

/* Fills *hop for hop `index` of the result, which is in the flow's row or in the row by alt_hash_fields. */
static void explain(const struct lookup *lookup, uint8_t index, struct hop *hop)
{
	const struct table *table = found_table(lookup);
	const uint16_t rows[] = {lookup->result.row, lookup->alt_row};
	struct netaddr address = routes_hop(lookup->routes, lookup->result.table, lookup->result.hops[index]);
	uint32_t server = lookup->result.server - routes_backend(lookup->routes, lookup->result.table, 0);

	if (lookup->result.server != QUIC_NO_SERVER && netaddr_compare(&table->backends[server].addr, &address) == 0) {
		*hop = (struct hop){&table->backends[server], rows[0], false, "the connection ID names it"};
		return;
	}
	for (int alt = 0; alt < 2; alt++) {
		const uint16_t *row = table->rows + (size_t)rows[alt] * table->row_hops;

		for (unsigned position = 0; position < table->row_hops; position++) {
			const struct table_backend *backend = &table->backends[row[position]];

			if (netaddr_compare(&backend->addr, &address) != 0)
				continue;
			hop->backend = backend;
			hop->row = rows[alt];
			hop->alt = alt == 1;
			explain_hop(lookup->explainer, lookup->result.table, hop->row, position, hop->reason);
			return;
		}
	}
}

static uint16_t outer_source_port(const struct lookup *lookup)
{
	return steer_source_port(lookup->result.hash, lookup->flow.hint);
}

static json_t *describe_hops(const struct lookup *lookup)
{
	json_t *hops = json_array();

	for (uint8_t i = 0; i < lookup->result.hop_count; i++) {
		char address[NETADDR_TEXT_MAX];
		struct hop hop;

		explain(lookup, i, &hop);
		json_array_append_new(hops,
			json_pack("{s:s, s:s, s:b, s:i, s:b, s:s}", "ip", netaddr_format(&hop.backend->addr, address),
				"state", table_state_name(hop.backend->state), "healthy", hop.backend->healthy, "row",
				hop.row, "alt", hop.alt, "reason", hop.reason));
	}
	return hops;
}

static json_t *describe(const struct lookup *lookup)
{
	const struct steer_result *result = &lookup->result;
	char source[ENDPOINT_TEXT_MAX], destination[ENDPOINT_TEXT_MAX], hash[17];
	json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "protocol", lookup->protocol, "source",
		endpoint_format(&lookup->source, source), "destination",
		endpoint_format(&lookup->destination, destination), "verdict", verdict_name(result->verdict));

	if (result->verdict != VERDICT_FORWARDED) {
		json_object_set_new(json, "reason", json_string(why_not_forwarded(lookup)));
		return json;
	}
	snprintf(hash, sizeof(hash), "%016" PRIx64, result->hash);
	json_object_update_new(json, json_pack("{s:i, s:s?, s:o, s:s, s:i, s:o}", "table_index", result->table, "table",
					     found_table(lookup)->name, "bind", cli_bind_json(find_bind(lookup)),
					     "hash", hash, "row", result->row, "hops", describe_hops(lookup)));
	if (result->quic)
		json_object_set_new(json, "quic", json_string(quic_fate_name(result->quic)));
	if (lookup->conf.steering.alt_hash_fields)
		json_object_set_new(json, "alt_row", json_integer(lookup->alt_row));
	if (lookup->hint_known)
		json_object_set_new(json, "udp_source_port", json_integer(outer_source_port(lookup)));
	return json;
}

static void print(const struct lookup *lookup)
{
	const struct steer_result *result = &lookup->result;
	char source[ENDPOINT_TEXT_MAX], destination[ENDPOINT_TEXT_MAX], label[16], bind[TABLE_BIND_TEXT_MAX];

	command_print(10, "flow      %s %s > %s", lookup->protocol, endpoint_format(&lookup->source, source),
		endpoint_format(&lookup->destination, destination));
	if (result->verdict != VERDICT_FORWARDED) {
		command_print(10, "verdict   %s: %s", verdict_name(result->verdict), why_not_forwarded(lookup));
		return;
	}
	printf("verdict   %s\n", verdict_name(result->verdict));
	command_print(10, "table     %s", table_label(&lookup->routes->set, result->table, label));
	printf("bind      %s\nhash      %016" PRIx64 "\nrow       %u", table_bind_text(find_bind(lookup), bind),
		result->hash, result->row);
	if (lookup->conf.steering.alt_hash_fields)
		printf("; alt %u, by alt_hash_fields", lookup->alt_row);
	putchar('\n');
	if (result->quic)
		printf("quic      %s\n", quic_fate_name(result->quic));
	for (uint8_t i = 0; i < result->hop_count; i++) {
		char address[NETADDR_TEXT_MAX];
		struct hop hop;

		explain(lookup, i, &hop);
		command_print(12, "hop %u     %-15s %-8s %-4s %s%s", i + 1, netaddr_format(&hop.backend->addr, address),
			table_state_name(hop.backend->state), cli_health_name(hop.backend->healthy),
			hop.alt ? "alt: " : "", hop.reason);
	}
	if (lookup->hint_known)
		printf("outer     UDP %u > %u\n", outer_source_port(lookup), GUE_PORT);
	if (!lookup->explainer->has_seed)
		puts("(For the reasons, use the JSON table: only the JSON has the seed.)");
}

static int run_live(const struct command_args *args)
{
	struct lookup lookup = {0};
	int code = parse(args, &lookup);

	if (code != COMMAND_OK)
		return code;
	if (args->options[CONFIG] || args->options[HINT] || args->options[QUIC_DCID])
		return command_usage(
			"lookup: --config, --hint and --quic-dcid are for files; the director has its own configuration");
	return live_lookup(args, lookup.protocol, &lookup.source, &lookup.destination, args->options[JSON]);
}

static int lookup_run(const struct command_args *args)
{
	struct lookup *lookup;
	struct explainer explainer;
	uint32_t version;
	int code = live_check(args, "lookup", 2);

	if (code != COMMAND_OK)
		return code;
	if (args->options[LIVE])
		return run_live(args);
	lookup = alloc_zeroed(1, sizeof(*lookup));
	code = parse(args, lookup);
	if (code == COMMAND_OK && (!cli_load_conf(args->values[CONFIG], &lookup->conf) ||
					  !cli_load_routes(args->operands[0], &lookup->routes, &version)))
		code = COMMAND_FAILED;
	if (code == COMMAND_OK)
		code = make_flow(args, lookup);
	if (code == COMMAND_OK) {
		explainer = (struct explainer){.set = &lookup->routes->set, .has_seed = version == 0};
		lookup->explainer = &explainer;
		steer(lookup);
		if (args->options[JSON])
			code = cli_print_json(describe(lookup));
		else
			print(lookup);
		explainer_free(&explainer);
	}
	routes_free(lookup->routes);
	free(lookup);
	return code;
}

const struct command lookup_command = {
	.name = "lookup",
	.run = lookup_run,
	.operands = "[TABLE] SRC[:PORT] DST[:PORT]",
	.summary = "Print the hops of a flow, and the reason for each hop",
	.options = options,
};
