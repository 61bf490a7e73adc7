/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <unistd.h>

#include "bifurcate/commands.h"
#include "bifurcate/vip_map.h"
#include "common/text.h"
#include "program/installed.h"
#include "table/file/table_load.h"

/* Reads the VIPs of a table, as strictly as the director does. The map is not touched before that has succeeded. */
static int read_vips(const char *path, struct vips *vips)
{
	struct faults faults = {.file = path};
	struct table_set set;
	int error = table_load(path, &set, NULL, &faults);

	if (error)
		return commands_print_faults(&faults);
	faults_clear(&faults); /* glb-director-cli check prints the warnings */
	error = vips_from_tables(&set, vips, &faults);
	table_set_free(&set);
	return error ? commands_print_faults(&faults) : COMMAND_OK;
}

static int sync_vips(const struct command_args *args)
{
	struct faults faults = {0};
	struct vip_map_change change;
	struct vips vips;
	int map, error;

	if (read_vips(args->count ? args->operands[0] : INSTALLED_TABLE, &vips) != COMMAND_OK)
		return COMMAND_FAILED;
	map = vip_map_open(true, &faults);
	error = map < 0 ? map : vip_map_set(map, &vips, &change, &faults);
	if (map >= 0)
		close(map);
	if (!error) {
		vip_map_warn_own_addresses(&vips, &faults);
		printf("%u VIP%s in the map: %u added, %u removed\n", vips.count, text_plural(vips.count), change.added,
			change.removed);
	}
	commands_print_faults(&faults);
	vips_free(&vips);
	return error ? COMMAND_FAILED : COMMAND_OK;
}

const struct command sync_command = {
	.name = "sync",
	.run = sync_vips,
	.operands = "[TABLE]",
	.summary = "Make the map hold exactly the addresses and prefixes of a table's binds (default: " INSTALLED_TABLE
		   ")",
	.options = COMMAND_NO_OPTIONS,
};
