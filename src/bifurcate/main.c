/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-bifurcate: fills and shows the map of VIPs that decides which packets a director on AF_XDP receives. */
#include <bpf/libbpf.h>

#include "bifurcate/commands.h"

static const struct command *const commands[] = {
	&sync_command,
	&show_command,
	&clear_command,
};

static const struct command_program program = {
	.name = "glb-bifurcate",
	.commands = commands,
	.count = sizeof(commands) / sizeof(commands[0]),
};

int commands_print_faults(struct faults *faults)
{
	faults_report(faults, FAULTS_ALL, command_fault, NULL);
	faults_clear(faults);
	return COMMAND_FAILED;
}

int main(int argc, char **argv)
{
	libbpf_set_print(NULL); /* print our own messages only */
	return command_main(&program, argc, argv);
}
