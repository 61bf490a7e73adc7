/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cli/live/live.h"
#include "common/text.h"

static void print_bind(const char *label, const json_t *bind)
{
	char text[SNAPSHOT_BIND_MAX];

	command_print(9, "  %-5s  %s, estimated packets: %" JSON_INTEGER_FORMAT, label, snapshot_bind(bind, text),
		member_number(bind, "estimated_packets"));
}

/* A longer address has a line of its own, so that no line has more than 80 columns. */
#define MAX_ADDRESS_WIDTH 17

static void print_backend(const json_t *backend, int width)
{
	const char *ip = member_text(backend, "ip");

	if (strlen(ip) > MAX_ADDRESS_WIDTH) {
		printf("  %s\n", ip);
		ip = "";
	}
	printf("  %-*s  %-8s  %-6s  %20" JSON_INTEGER_FORMAT "  %19" JSON_INTEGER_FORMAT "\n", width, ip,
		member_text(backend, "state"), cli_health_name(member_number(backend, "healthy")),
		member_number(backend, "packets"), member_number(backend, "no_next_hop"));
}

static void print_table(const json_t *table)
{
	const json_t *binds = json_object_get(table, "binds"), *backends = json_object_get(table, "backends");
	int longest = snapshot_width(backends, "ip", 15);
	int width = longest < MAX_ADDRESS_WIDTH ? longest : MAX_ADDRESS_WIDTH;
	const json_t *entry;
	size_t i;

	putchar('\n');
	command_print(2, "table %s: %zu backend%s, rows of %" JSON_INTEGER_FORMAT " hop%s", member_text(table, "name"),
		json_array_size(backends), text_plural(json_array_size(backends)), member_number(table, "hops"),
		text_plural((uint64_t)member_number(table, "hops")));
	json_array_foreach(binds, i, entry) print_bind(i ? "" : "binds", entry);
	if (json_array_size(binds) == 0)
		puts("  binds  none");
	printf("\n  %-*s  %-8s  %-6s  %20s  %19s\n", width, "backend", "state", "health", "packets", "drop_no_next_hop");
	json_array_foreach(backends, i, entry) print_backend(entry, width);
}

/* Replaces the statistics by what makes packets slower. It is an array as for files, although the director tells only
 * the first thing. */
static void keep_slow(json_t *snapshot)
{
	json_t *text = json_object_get(json_object_get(snapshot, "stats"), "slow"), *slow = json_array();

	if (json_string_length(text))
		json_array_append(slow, text);
	json_object_set_new(snapshot, "slow", slow);
	json_object_del(snapshot, "stats");
}

int live_show(const struct command_args *args, const char *table, bool json)
{
	struct telemetry telemetry;
	int code = telemetry_open(&telemetry, args);
	json_t *snapshot, *entry;
	size_t i;

	if (code != COMMAND_OK)
		return code;
	snapshot = snapshot_read(&telemetry, SNAPSHOT_ALL, table);
	telemetry_close(&telemetry);
	if (!snapshot)
		return COMMAND_FAILED;
	keep_slow(snapshot);
	if (json)
		return cli_print_json(snapshot);
	printf("generation %" JSON_INTEGER_FORMAT ", digest %s\n", member_number(snapshot, "generation"),
		member_text(snapshot, "digest"));
	json_array_foreach(json_object_get(snapshot, "slow"), i, entry)
		command_print(2, "slow: %s", json_string_value(entry));
	json_array_foreach(json_object_get(snapshot, "tables"), i, entry) print_table(entry);
	json_decref(snapshot);
	return COMMAND_OK;
}
