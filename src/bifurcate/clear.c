/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <unistd.h>

#include "bifurcate/commands.h"
#include "bifurcate/vip_map.h"
#include "common/text.h"

static int clear(const struct command_args *args)
{
	const struct vips none = {0};
	struct faults faults = {0};
	int map = vip_map_open(false, &faults), error;
	struct vip_map_change change;

	(void)args;
	if (map < 0)
		return commands_print_faults(&faults);
	error = vip_map_set(map, &none, &change, &faults);
	close(map);
	if (error)
		return commands_print_faults(&faults);
	printf("%u VIP%s removed: the kernel receives all packets\n", change.removed, text_plural(change.removed));
	return COMMAND_OK;
}

const struct command clear_command = {
	.name = "clear",
	.run = clear,
	.summary = "Remove all VIPs from the map, so that the kernel receives all packets",
	.options = COMMAND_NO_OPTIONS,
};
