/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cli/live/live.h"
#include "common/endpoint.h"
#include "gue/gue_wire.h"

static void print_next_hop(const json_t *hop)
{
	const char *address = member_text(hop, "address"), *interface = member_text(hop, "interface");
	const char *mac = member_text(hop, "mac");

	printf("next hop  %s%s%s", address, address[0] ? " " : "", strcmp(mac, "unknown") == 0 ? "none" : mac);
	if (interface[0])
		printf(" on %s", interface);
	if (strcmp(member_text(hop, "port"), "all") != 0)
		printf(" (port %s)", member_text(hop, "port"));
	putchar('\n');
}

static void print(const json_t *reply)
{
	const json_t *hops = json_object_get(reply, "hops"), *hop;
	const json_t *port = json_object_get(reply, "outer_source_port");
	size_t i;

	printf("verdict   %s\n", member_text(reply, "verdict"));
	if (hops) {
		command_print(10, "table     %s", member_text(reply, "table_name"));
		printf("hash      %s\nrow       %" JSON_INTEGER_FORMAT "\n", member_text(reply, "hash"),
			member_number(reply, "row"));
		json_array_foreach(hops, i, hop) printf("hop %zu     %s\n", i + 1, json_string_value(hop));
	}
	json_array_foreach(json_object_get(reply, "next_hops"), i, hop) print_next_hop(hop);
	if (port)
		printf("outer     UDP %" JSON_INTEGER_FORMAT " > %u\n", json_integer_value(port), GUE_PORT);
	printf("(This is generation %" JSON_INTEGER_FORMAT " of the director's table.)\n",
		member_number(reply, "generation"));
}

/* Makes the list of next hops an array. Without the source port, the reply was computed from port 0. */
static void arrange(json_t *reply, bool has_port)
{
	json_t *found = json_object_get(reply, "next_hops"), *list;

	if (found) {
		list = json_array();
		snapshot_append(list, found);
		json_object_set_new(reply, "next_hops", list);
	}
	if (!has_port) {
		json_object_del(reply, "outer_source_port");
		json_object_del(reply, "next_hops");
	}
}

static int ask(struct telemetry *telemetry, const char *protocol, const struct endpoint *source,
	const struct endpoint *destination, json_t **reply)
{
	char command[256], from[NETADDR_TEXT_MAX], to[NETADDR_TEXT_MAX];
	int code = COMMAND_OK;

	netaddr_format(&source->addr, from);
	snprintf(command, sizeof(command), "/glb/lookup,%s,%u,%s,%u,%s", from, source->port,
		netaddr_format(&destination->addr, to), destination->port, protocol);
	*reply = telemetry_ask(telemetry, command);
	if (!*reply)
		return COMMAND_FAILED;
	if (json_object_get(*reply, "error"))
		code = command_error("the director cannot look this up: %s", member_text(*reply, "error"));
	else if (!source->has_port && strcmp(protocol, "icmp") != 0 && member_number(*reply, "source_port_hashed"))
		code = command_usage("lookup: SRC: '%s' has no port, but the director's hash includes it", from);
	else
		arrange(*reply, source->has_port);
	if (code != COMMAND_OK)
		json_decref(*reply);
	return code;
}

int live_lookup(const struct command_args *args, const char *protocol, const struct endpoint *source,
	const struct endpoint *destination, bool json)
{
	char from[ENDPOINT_TEXT_MAX], to[ENDPOINT_TEXT_MAX];
	struct telemetry telemetry;
	int code = telemetry_open(&telemetry, args);
	json_t *reply = NULL;

	if (code != COMMAND_OK)
		return code;
	code = ask(&telemetry, protocol, source, destination, &reply);
	telemetry_close(&telemetry);
	if (code != COMMAND_OK)
		return code;
	if (json)
		return cli_print_json(reply);
	printf("flow      %s %s > %s\n", protocol, endpoint_format(source, from), endpoint_format(destination, to));
	print(reply);
	json_decref(reply);
	return COMMAND_OK;
}
