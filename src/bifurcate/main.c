/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * glb-bifurcate shares a card between the kernel and the director: with AF_XDP by a map of VIPs (sync, show, clear),
 * with SR-IOV by a VF (apply, status, undo).
 */
#include <bpf/libbpf.h>

#include "bifurcate/commands.h"

static const struct command *const commands[] = {
	&sync_command,
	&show_command,
	&clear_command,
	&apply_command,
	&status_command,
	&undo_command,
};

static const struct command_program program = {
	.name = "glb-bifurcate",
	.commands = commands,
	.count = sizeof(commands) / sizeof(commands[0]),
};

int main(int argc, char **argv)
{
	libbpf_set_print(NULL); /* print our own messages only */
	return command_main(&program, argc, argv);
}
