/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/options.h"

#include <stdlib.h>
#include <string.h>

#include "program/command.h"
#include "program/installed.h"

enum { CONFIG_FILE, CHECK_ONCE, JSON, DEBUG };

static const struct command_option known[] = {
	[CONFIG_FILE] = {"config-file", "FILE", "the configuration", INSTALLED_HEALTHCHECK_CONF},
	[CHECK_ONCE] = {"check-once", NULL,
		"run every check once, print the results, write nothing; "
		"exit with 0 if every backend is healthy, else with 1"},
	[JSON] = {"json", NULL, "with status: print the daemon's reply"},
	[DEBUG] = {"debug", NULL, "also log messages for developers"},
	{0},
};

static const struct command command = {
	.name = "",
	.operands = "[status | reload]",
	.summary = "Check proxies, and write their health into a copy of the forwarding table",
	.options = known,
	.letters = "c1jdhV",
	.note = "status asks a running glb-healthcheck for its state, and prints it. It exits\n"
		"with 0 if all backends are healthy, and src, dst, reload and trusted\n"
		"certificates have no error, else with 1. reload makes it read the table again,\n"
		"and exits with 1 if it refuses the table.\n"
		"\n"
		"SIGHUP reads the table again. SIGTERM stops the program.\n"
		"See glb-healthcheck(8) and glb-healthcheck.conf(5).",
};

struct options options_parse(int argc, char **argv)
{
	struct command_args args;
	bool status, reload;
	int code;

	command_open("glb-healthcheck");
	if (!command_parse(&command, argc, argv, &args, &code))
		exit(code);
	status = args.count && strcmp(args.operands[0], "status") == 0;
	reload = args.count && strcmp(args.operands[0], "reload") == 0;
	if (args.count && !status && !reload)
		exit(command_usage("unexpected operand '%s'", args.operands[0]));
	if (args.count && (args.options[CHECK_ONCE] || args.options[DEBUG]))
		exit(command_usage("%s takes neither --check-once nor --debug", args.operands[0]));
	if (!status && args.options[JSON])
		exit(command_usage("--json is an option of status: glb-healthcheck status --json"));
	return (struct options){
		.config_file = args.values[CONFIG_FILE],
		.check_once = args.options[CHECK_ONCE],
		.debug = args.options[DEBUG],
		.status = status,
		.reload = reload,
		.json = args.options[JSON],
	};
}
