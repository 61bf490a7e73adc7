/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/next.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "redirect/explain.h"
#include "redirect/loader.h"

#define MAP     "next"
#define PROGRAM "next_program"

static const uint32_t key;

enum {
	OPTION_NONE,
};

static const struct command_option options[] = {
	{"none", NULL, "remove the next program"},
	{0},
};

static int open_pin(const char *interface, uint32_t program_id, const char *name)
{
	char folder[PINS_FOLDER_MAX];

	return pins_get(interface, pins_program_folder(folder, program_id), name);
}

uint32_t next_find(const char *interface, uint32_t program_id)
{
	int map = open_pin(interface, program_id, MAP);
	uint32_t id;

	if (map < 0)
		return 0;
	if (bpf_map_lookup_elem(map, &key, &id) != 0)
		id = 0;
	close(map);
	return id;
}

/* Puts a program into a map and pins it in the folder of the program to which the map belongs. */
static int put(const char *interface, uint32_t program_id, int map, int next)
{
	char folder[PINS_FOLDER_MAX];
	int error = bpf_map_update_elem(map, &key, &next, BPF_ANY);

	pins_program_folder(folder, program_id);
	if (error)
		return error;
	pins_remove_pin(interface, folder, PROGRAM);
	return pins_put(interface, folder, PROGRAM, next);
}

int next_keep(const char *interface, const struct pins *old, const struct program *program)
{
	int next = open_pin(interface, old->program_id, PROGRAM), error;

	if (next < 0)
		return next == -ENOENT ? 0 : next;
	error = put(interface, program->id, program->next, next);
	close(next);
	return error;
}

static int set(const char *interface, uint32_t program_id, int map, const char *path)
{
	int next = bpf_obj_get(path), error;

	if (next < 0)
		return command_error("cannot open the pinned program %s: %s", path, strerror(-next));
	error = put(interface, program_id, map, next);
	close(next);
	if (error == -EINVAL || error == -EBADF)
		return command_error(
			"%s: %s is not an XDP program like the attached one: in native mode since Linux 5.18 it must accept fragments (SEC(\"xdp.frags\")), in generic mode it must not",
			interface, path);
	if (error)
		return explain_folder(interface, error);
	printf("%s: next program is %u\n", interface, next_find(interface, program_id));
	return COMMAND_OK;
}

static int unset(const char *interface, uint32_t program_id, int map)
{
	char folder[PINS_FOLDER_MAX];
	int error = bpf_map_delete_elem(map, &key);

	pins_remove_pin(interface, pins_program_folder(folder, program_id), PROGRAM);
	if (error == -ENOENT)
		return command_error("%s: there is no next program", interface);
	if (error)
		return explain_folder(interface, error);
	printf("%s: no next program\n", interface);
	return COMMAND_OK;
}

static int next(const struct command_args *args)
{
	const char *interface = loader_interface(args), *path = args->count > 1 ? args->operands[1] : NULL;
	struct pins pins;
	int error, code, map;

	if (!path == !args->options[OPTION_NONE])
		return command_usage("give the path of a pinned program, or --none");
	pins_lock();
	error = pins_open(interface, &pins);
	if (error == -ENOENT)
		return command_error("%s: not attached", interface);
	if (error)
		return explain_folder(interface, error);
	map = open_pin(interface, pins.program_id, MAP);
	if (map < 0)
		code = explain_folder(interface, map);
	else
		code = path ? set(interface, pins.program_id, map, path) : unset(interface, pins.program_id, map);
	if (map >= 0)
		close(map);
	pins_close(&pins);
	return code;
}

const struct command next_command = {
	.name = "next",
	.run = next,
	.operands = "INTERFACE [PROGRAM]",
	.min_operands = 1,
	.max_operands = 2,
	.summary = "Run a pinned XDP program of another tool after this one",
	.options = options,
};
