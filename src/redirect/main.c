/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-redirect: attaches the second chance to a proxy's interfaces, and tells how it fares. */
#include "redirect/loader.h"

#include <net/if.h>
#include <string.h>

#include <bpf/libbpf.h>

static const struct command *const commands[] = {
	&attach_command,
	&detach_command,
	&status_command,
	&stats_command,
};

static int check_interface(const struct command_args *args)
{
	const char *interface = loader_interface(args);

	if (interface && (!*interface || strlen(interface) >= IFNAMSIZ || strpbrk(interface, "/: \t\n")))
		return command_usage("'%s' is not a name for an interface", interface);
	return COMMAND_OK;
}

static const struct command_program program = {
	.name = "glb-redirect",
	.commands = commands,
	.count = sizeof(commands) / sizeof(commands[0]),
	.check = check_interface,
};

int main(int argc, char **argv)
{
	libbpf_set_print(NULL); /* messages are ours; attach --debug shows libbpf's */
	return command_main(&program, argc, argv);
}
