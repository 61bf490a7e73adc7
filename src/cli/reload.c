/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/telemetry.h"

#include "program/member.h"

enum { JSON = TELEMETRY_OPTIONS, FORCE };

static const struct command_option options[] = {
	TELEMETRY_OPTION_LIST,
	[JSON] = {"json", NULL, "print the reply as JSON"},
	[FORCE] = {"force", NULL, "use any valid table, whatever it loses"},
	{0},
};

static int reload(const struct command_args *args, bool json, bool force)
{
	json_t *reply;
	int code = telemetry_request(args, force ? "/glb/reload,force" : "/glb/reload", &reply);
	const char *error, *digest;

	if (code != COMMAND_OK)
		return code;
	error = json_string_value(json_object_get(reply, "error"));
	digest = json_string_value(json_object_get(reply, "digest"));
	code = member_number(reply, "ok") ? COMMAND_OK : CLI_REFUSED;
	if (code != COMMAND_OK)
		command_error("the director keeps its table: %s", error ? error : "no reason given");
	else if (!json)
		printf("reloaded: generation %" JSON_INTEGER_FORMAT ", digest %s\n", member_number(reply, "generation"),
			digest ? digest : "unknown");
	if (!json)
		json_decref(reply);
	else if (cli_print_json(reply) != COMMAND_OK)
		code = COMMAND_FAILED;
	return code;
}

int cli_reload(const struct command_args *args)
{
	return reload(args, false, false);
}

static int reload_run(const struct command_args *args)
{
	return reload(args, args->options[JSON], args->options[FORCE]);
}

const struct command reload_command = {
	.name = "reload",
	.run = reload_run,
	.summary = "Make a running director load its table again",
	.options = options,
};
