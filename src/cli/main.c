/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * glb-director-cli: works on forwarding tables and captures without a director, and sends requests to
 * a running director.
 */
#include "cli/cli.h"

static const struct command *const commands[] = {
	&new_command,
	&edit_command,
	&undo_command,
	&build_config_command,
	&check_command,
	&show_command,
	&lookup_command,
	&diff_command,
	&plan_command,
	&rollout_command,
	&fleet_command,
	&simulate_command,
	&replay_command,
	&decode_command,
	&quic_command,
	&migrate_command,
	&reload_command,
	&health_command,
	&doctor_command,
	&stats_command,
	&tables_command,
	&next_hops_command,
	&capture_command,
};

static const struct command_program program = {
	.name = "glb-director-cli",
	.note = "A table (TABLE) is a JSON or a binary file.",
	.commands = commands,
	.values = cli_values,
	.count = sizeof(commands) / sizeof(commands[0]),
};

int main(int argc, char **argv)
{
	return command_main(&program, argc, argv);
}
