/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/telemetry.h"

#include <string.h>

enum { JSON = TELEMETRY_OPTIONS };

static const struct command_option options[] = {
	TELEMETRY_OPTION_LIST,
	[JSON] = {"json", NULL, "print the reply as JSON"},
	{0},
};

/* Prints a line for each value. Members of an object or array are indented. */
static void print(const char *key, const json_t *value, int depth)
{
	const char *name;
	json_t *member;
	size_t index;

	printf("%*s%-*s", 2 * depth, "", 28 - 2 * depth, key);
	if (json_is_integer(value))
		printf(" %" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_string(value))
		printf(" %s", json_string_value(value));
	putchar('\n');
	json_object_foreach((json_t *)value, name, member) print(name, member, depth + 1);
	json_array_foreach(value, index, member) print("-", member, depth + 1);
}

static int run(const struct command_args *args)
{
	json_t *reply, *member;
	const char *key;
	int code = telemetry_request(args, "/glb/stats", &reply);

	if (code != COMMAND_OK)
		return code;
	if (args->options[JSON])
		return cli_print_json(reply);
	json_object_foreach(reply, key, member) print(key, member, 0);
	json_decref(reply);
	return COMMAND_OK;
}

const struct command stats_command = {
	.name = "stats",
	.run = run,
	.operands = "",
	.summary = "Print the counters of a running director",
	.options = options,
};
