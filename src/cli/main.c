/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-director-cli: everything about forwarding tables and captures that needs no running director.
 */
#include "cli/cli.h"

static const struct command *const commands[] = {
	&build_config_command,
	&check_command,
	&show_command,
	&lookup_command,
	&diff_command,
	&replay_command,
	&decode_command,
	&reload_command,
	&stats_command,
};

static const struct command_program program = {
	.name = "glb-director-cli",
	.note = "Tables are read as JSON or binary, whichever the file is.",
	.commands = commands,
	.count = sizeof(commands) / sizeof(commands[0]),
};

int main(int argc, char **argv)
{
	return command_main(&program, argc, argv);
}
