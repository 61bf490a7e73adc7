/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/telemetry.h"

#include <string.h>

#include "common/utc.h"
#include "program/member.h"

enum { JSON = TELEMETRY_OPTIONS };

static const struct command_option options[] = {
	TELEMETRY_OPTION_LIST,
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "unknown";
}

static const char *time_text(const json_t *object, const char *key, char buf[UTC_TEXT_MAX])
{
	return utc_strftime(member_number(object, key), UTC_PEOPLE, buf);
}

/* Makes `reasons` an array, with whole texts. */
static void tidy(json_t *reply)
{
	json_t *array = json_array(), *reason;
	const char *key;

	json_object_foreach(json_object_get(reply, "reasons"), key, reason)
	{
		telemetry_join_text(reason, "text");
		json_array_append(array, reason);
	}
	json_object_set_new(reply, "reasons", array);
}

static void print(const json_t *reply)
{
	json_int_t omitted = member_number(reply, "omitted"), pid = member_number(reply, "capture_pid");
	char buf[UTC_TEXT_MAX];
	const json_t *reason;
	size_t i;

	command_print(2, "%s since %s", text_of(reply, "state"), time_text(reply, "since", buf));
	command_print(2, "table: generation %" JSON_INTEGER_FORMAT ", digest %s, %" JSON_INTEGER_FORMAT " s old",
		member_number(reply, "generation"), text_of(reply, "digest"), member_number(reply, "table_age"));
	if (pid)
		command_print(2, "capture: process %" JSON_INTEGER_FORMAT " captures packets since %s", pid,
			time_text(reply, "capture_since", buf));
	json_array_foreach(json_object_get(reply, "reasons"), i, reason)
		command_print(2, "%s: %s: %s: %s (since %s)", text_of(reason, "severity"), text_of(reason, "cause"),
			text_of(reason, "object"), text_of(reason, "text"), time_text(reason, "since", buf));
	if (omitted)
		printf("and %" JSON_INTEGER_FORMAT " more\n", omitted);
}

/* The director should get packets only if it is ok or degraded. A state that this program does not know is a
 * bad one. */
static int code_of(const json_t *reply)
{
	const char *state = text_of(reply, "state");

	if (strcmp(state, "ok") == 0)
		return COMMAND_OK;
	return strcmp(state, "degraded") == 0 ? CLI_HEALTH_DEGRADED : CLI_HEALTH_BAD;
}

static int health_run(const struct command_args *args)
{
	json_t *reply;
	int code;

	if (telemetry_request(args, "/glb/health", &reply) != COMMAND_OK)
		return CLI_HEALTH_BAD;
	code = code_of(reply);
	tidy(reply);
	if (!args->options[JSON])
		print(reply);
	else if (cli_print_json(json_incref(reply)) != COMMAND_OK)
		code = CLI_HEALTH_BAD;
	json_decref(reply);
	return code;
}

const struct command health_command = {
	.name = "health",
	.run = health_run,
	.summary = "Print whether a running director can forward, and what is wrong",
	.options = options,
};
