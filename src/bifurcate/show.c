/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <unistd.h>

#include "bifurcate/commands.h"
#include "bifurcate/vip_map.h"

static int show(const struct command_args *args)
{
	struct faults faults = {0};
	int map = vip_map_open(false, &faults), error;
	char text[NETPREFIX_TEXT_MAX];
	struct vips vips;

	(void)args;
	if (map < 0)
		return commands_print_faults(&faults);
	error = vip_map_read(map, &vips, &faults);
	close(map);
	if (error)
		return commands_print_faults(&faults);
	for (uint32_t i = 0; i < vips.count; i++) {
		struct netprefix vip = vips_prefix(&vips.items[i]);

		puts(netprefix_format(&vip, text));
	}
	if (vips.count == 0)
		command_note("the map has no VIP, so the kernel receives all packets");
	vips_free(&vips);
	return COMMAND_OK;
}

const struct command show_command = {
	.name = "show",
	.run = show,
	.summary = "Print the VIPs in the map, one in each line",
	.options = COMMAND_NO_OPTIONS,
};
