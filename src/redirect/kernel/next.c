/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/next.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "redirect/explain.h"
#include "redirect/loader.h"

#define PROGRAM "next_program"

static const uint32_t key;

enum {
	OPTION_NONE,
};

static const struct command_option options[] = {
	{"none", NULL, "remove the next program"},
	{0},
};

uint32_t next_find(const struct pins *pins)
{
	uint32_t id;

	return pins->next >= 0 && bpf_map_lookup_elem(pins->next, &key, &id) == 0 ? id : 0;
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
	char folder[PINS_FOLDER_MAX];
	int next = pins_get(interface, pins_program_folder(folder, old->program_id), PROGRAM), error;

	if (next < 0)
		return next == -ENOENT ? 0 : next;
	error = put(interface, program->id, program->next, next);
	close(next);
	return error;
}

static int set(const char *interface, const struct pins *pins, const char *path)
{
	int next = bpf_obj_get(path), error;

	if (next < 0)
		return command_error("cannot open the pinned program %s: %s", path, strerror(-next));
	error = put(interface, pins->program_id, pins->next, next);
	close(next);
	if (error == -EINVAL || error == -EBADF)
		return command_error(
			"%s: %s is not an XDP program like the attached one: in native mode since Linux 5.18 it must accept fragments (SEC(\"xdp.frags\")), in generic mode it must not",
			interface, path);
	if (error)
		return explain_folder(interface, error);
	printf("%s: next program is %u\n", interface, next_find(pins));
	return COMMAND_OK;
}

static int unset(const char *interface, const struct pins *pins)
{
	char folder[PINS_FOLDER_MAX];
	int error = bpf_map_delete_elem(pins->next, &key);

	pins_remove_pin(interface, pins_program_folder(folder, pins->program_id), PROGRAM);
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
	int error, code;

	if (!path == !args->options[OPTION_NONE])
		return command_usage("give the path of a pinned program, or --none");
	if (loader_lock() == -EPERM)
		return COMMAND_FAILED;
	error = pins_open(interface, &pins);
	if (error == -ENOENT)
		return command_error("%s: not attached", interface);
	if (error)
		return explain_folder(interface, error);
	if (pins.next < 0)
		code = command_error(
			"%s: the attached program is from an older glb-redirect, which cannot run another program after it: replace it first (glb-redirect attach %s)",
			interface, interface);
	else
		code = path ? set(interface, &pins, path) : unset(interface, &pins);
	pins_close(&pins);
	return code;
}

const struct command next_command = {
	.name = "next",
	.run = next,
	.operands = "INTERFACE [PROGRAM]",
	.summary = "Run a pinned XDP program of another tool after this one",
	.options = options,
};
