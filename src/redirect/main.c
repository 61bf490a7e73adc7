/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-redirect: attaches the second chance program to a proxy's interfaces, and prints its state and counters. */
#include "redirect/loader.h"

#include <net/if.h>
#include <string.h>

#include <bpf/libbpf.h>

static const struct command *const commands[] = {
	&attach_command,
	&reload_command,
	&follow_command,
	&detach_command,
	&next_command,
	&status_command,
	&stats_command,
	&check_command,
	&exporter_command,
	&drained_command,
};

static int check_interface(const struct command_args *args)
{
	const char *interface = loader_interface(args);

	if (interface && (!*interface || strlen(interface) >= IFNAMSIZ || strpbrk(interface, "/: \t\n")))
		return command_usage("'%s' is not an interface name", interface);
	return COMMAND_OK;
}

static void offer_interfaces(const char *what, const struct command_args *)
{
	struct if_nameindex *names = strcmp(what, "INTERFACE") == 0 ? if_nameindex() : NULL;

	for (struct if_nameindex *name = names; name && name->if_index; name++)
		command_offer(name->if_name, NULL);
	if (names)
		if_freenameindex(names);
}

static const struct command_program program = {
	.name = "glb-redirect",
	.commands = commands,
	.count = sizeof(commands) / sizeof(commands[0]),
	.check = check_interface,
	.values = offer_interfaces,
};

int main(int argc, char **argv)
{
	int code;

	libbpf_set_print(NULL); /* print our own messages only; attach --debug prints libbpf's, too */
	code = command_main(&program, argc, argv);
	loader_unlock();
	return code;
}
