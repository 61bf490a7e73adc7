/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands sync, show and clear, which fill and print the map of VIPs. */
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
		return command_faults(&faults, FAULTS_ALL);
	faults_clear(&faults); /* glb-director-cli check prints the warnings */
	error = vips_from_tables(&set, vips, &faults);
	table_set_free(&set);
	return error ? command_faults(&faults, FAULTS_ALL) : COMMAND_OK;
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
		printf("%zu VIP%s in the map: %u added, %u removed\n", vips.count, text_plural(vips.count),
			change.added, change.removed);
	}
	command_faults(&faults, FAULTS_ALL);
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

static int show(const struct command_args *args)
{
	struct faults faults = {0};
	int map = vip_map_open(false, &faults), error;
	char text[NETPREFIX_TEXT_MAX];
	struct vips vips;

	(void)args;
	if (map < 0)
		return command_faults(&faults, FAULTS_ALL);
	error = vip_map_read(map, &vips, &faults);
	close(map);
	if (error)
		return command_faults(&faults, FAULTS_ALL);
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

static int clear(const struct command_args *args)
{
	const struct vips none = {0};
	struct faults faults = {0};
	int map = vip_map_open(false, &faults), error;
	struct vip_map_change change;

	(void)args;
	if (map < 0)
		return command_faults(&faults, FAULTS_ALL);
	error = vip_map_set(map, &none, &change, &faults);
	close(map);
	if (error)
		return command_faults(&faults, FAULTS_ALL);
	printf("%u VIP%s removed: the kernel receives all packets\n", change.removed, text_plural(change.removed));
	return COMMAND_OK;
}

const struct command clear_command = {
	.name = "clear",
	.run = clear,
	.summary = "Remove all VIPs from the map, so that the kernel receives all packets",
	.options = COMMAND_NO_OPTIONS,
};
