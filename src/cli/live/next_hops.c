/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cli/live/snapshot.h"

enum { JSON = TELEMETRY_OPTIONS };

enum {
	PAGE = 32, /* next hops and backends of a reply: docs/reference/telemetry.md */
	MAX_FIRST = 1 << 20, /* more than a director has: ends the loop if another program replies */
	TRIES = 20,
};

static const struct command_option options[] = {
	TELEMETRY_OPTION_LIST,
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

/* Adds the lists of a set, page after page. Returns 1; 0: they have changed meanwhile; -1: an error message was
 * printed. */
static int read_pages(struct telemetry *telemetry, const char *index, json_t *set)
{
	json_t *next_hops = json_array(), *without = json_array();
	json_int_t more = 1, version = member_number(set, "version");
	bool same = true;

	json_object_set_new(set, "next_hops", next_hops);
	json_object_set_new(set, "without", without);
	for (unsigned first = 0; more && first < MAX_FIRST; first += PAGE) {
		char command[64];
		json_t *page;

		snprintf(command, sizeof(command), "/glb/next_hops,%s,%u", index, first);
		page = telemetry_ask(telemetry, command);
		if (!page)
			return -1;
		snapshot_append(next_hops, json_object_get(page, "next_hops"));
		snapshot_append(without, json_object_get(page, "without"));
		more = member_number(page, "truncated");
		same &= member_number(page, "version") == version;
		json_decref(page);
	}
	json_object_del(set, "version");
	return same;
}

static int worse(int a, int b)
{
	return a < b ? a : b;
}

/* Reads everything once, to *result. Returns 1; 0: it has changed meanwhile; -1: an error message was printed, and
 * *result is NULL. */
static int read_once(struct telemetry *telemetry, json_t **result)
{
	json_t *list = telemetry_ask(telemetry, "/glb/next_hops"), *sets, *set;
	const char *key;
	int outcome = 1;

	*result = NULL;
	if (!list)
		return -1;
	if (!json_object_get(list, "sets")) {
		command_error("the director does not list its next hops: %s", member_text(list, "error"));
		json_decref(list);
		return -1;
	}
	sets = json_array();
	json_object_foreach(json_object_get(list, "sets"), key, set)
	{
		json_array_append(sets, set);
		if (outcome >= 0)
			outcome = worse(outcome, read_pages(telemetry, key, set));
	}
	json_decref(list);
	if (outcome < 0)
		json_decref(sets);
	else
		*result = json_pack("{s:o}", "sets", sets);
	return outcome;
}

/* Reads the lists again if they have changed meanwhile. During an outage they may never be still, so the last reading
 * counts. */
static json_t *read_all(const struct command_args *args, int *code)
{
	struct telemetry telemetry;
	json_t *result = NULL;
	int outcome = 0;

	*code = telemetry_open(&telemetry, args);
	if (*code != COMMAND_OK)
		return NULL;
	for (unsigned try = 0; try < TRIES && outcome == 0; try++) {
		json_decref(result);
		outcome = read_once(&telemetry, &result);
	}
	telemetry_close(&telemetry);
	if (outcome == 0)
		command_note("the next hops changed while they were read, so a line may be missing or occur twice");
	if (!result)
		*code = COMMAND_FAILED;
	return result;
}

static void print_age(json_int_t seconds)
{
	if (seconds < 60)
		printf(" %4" JSON_INTEGER_FORMAT "s", seconds);
	else if (seconds < 3600)
		printf(" %4" JSON_INTEGER_FORMAT "m", seconds / 60);
	else if (seconds < 48 * 3600)
		printf(" %4" JSON_INTEGER_FORMAT "h", seconds / 3600);
	else
		printf(" %4" JSON_INTEGER_FORMAT "d", seconds / 86400);
}

/* IPv6 link-local addresses and interfaces with short names fit into 80 columns. */
static void print_next_hops(const json_t *next_hops)
{
	int address_width = snapshot_width(next_hops, "address", 15),
	    interface_width = snapshot_width(next_hops, "interface", 9);
	const json_t *item;
	size_t i;

	printf("%-*s %-*s MAC               state       age backends\n", address_width, "next hop", interface_width,
		"interface");
	json_array_foreach(next_hops, i, item)
	{
		const char *address = member_text(item, "address"), *interface = member_text(item, "interface");

		printf("%-*s %-*s %-17s %-9s", address_width, address[0] ? address : "-", interface_width,
			interface[0] ? interface : "-", member_text(item, "mac"), member_text(item, "state"));
		print_age(member_number(item, "age"));
		printf(" %8" JSON_INTEGER_FORMAT "\n", member_number(item, "backends"));
	}
}

static void print_set(const json_t *set)
{
	const json_t *next_hops = json_object_get(set, "next_hops"), *without = json_object_get(set, "without"), *item;
	const char *interface = member_text(set, "interface");
	size_t i;

	if (strcmp(member_text(set, "port"), "all") != 0)
		printf("port %s, interface %s:\n", member_text(set, "port"), interface);
	if (json_array_size(next_hops))
		print_next_hops(next_hops);
	else
		puts("There are no next hops.");
	if (json_array_size(without))
		puts("Backends without a reachable next hop, whose packets are dropped:");
	json_array_foreach(without, i, item) printf(
		"%-*s  %s\n", snapshot_width(without, "ip", 15), member_text(item, "ip"), member_text(item, "why"));
}

static int next_hops_run(const struct command_args *args)
{
	const json_t *set;
	json_t *result;
	size_t i;
	int code;

	result = read_all(args, &code);
	if (!result)
		return code;
	if (args->options[JSON])
		return cli_print_json(result);
	json_array_foreach(json_object_get(result, "sets"), i, set)
	{
		if (i)
			putchar('\n');
		print_set(set);
	}
	json_decref(result);
	return COMMAND_OK;
}

const struct command next_hops_command = {
	.name = "next-hops",
	.run = next_hops_run,
	.summary = "List the next hops of a running director",
	.options = options,
};
