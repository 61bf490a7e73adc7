/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/install.h"

#include <linux/if_link.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "redirect/allow.h"
#include "redirect/kernel/companion.h"
#include "redirect/explain.h"
#include "redirect/host/interface.h"
#include "redirect/loader.h"
#include "redirect/kernel/losses.h"
#include "redirect/kernel/next.h"
#include "redirect/kernel/program.h"

int install_prepare(struct install *install)
{
	int code = interface_read(install->interface, &install->ifindex, &install->settings);

	if (code == COMMAND_OK)
		code = allow_read(&install->settings, &install->conf);
	return code == COMMAND_OK ? interface_check_forwarding(&install->settings, &install->conf) : code;
}

static void print_result(const struct install *install, const struct program *program, const char *result)
{
	json_t *allow = allow_to_json(&install->settings, &program->lists);

	printf("%s: %s, %s mode\n", install->interface, result, install->generic ? "generic" : "native");
	loader_print_settings(&install->settings);
	allow_print(allow);
	json_decref(allow);
}

static void finish(const struct install *install, const struct program *program, const char *result)
{
	losses_watch(install->interface, install->ifindex); /* status tells if it failed */
	print_result(install, program, result);
	if (install->settings.without_numbers)
		command_note("%s: " LOADER_WITHOUT_NUMBERS, install->interface);
}

/* The caller calls program_unload() in either case. */
static int load(struct install *install, const struct program_counts *counts, struct program *program)
{
	struct redirect_offsets offsets;
	int error = program_find_offsets(&offsets);

	*program = (struct program){0};
	if (error)
		return command_error("cannot read " PROGRAM_BTF ": %s", strerror(-error));
	/* In generic mode GRO runs before XDP, if at all, so the kernel can verify every packet. */
	install->settings.checksums = install->generic ? REDIRECT_CHECKSUMS_KERNEL : REDIRECT_CHECKSUMS_PROGRAM;
	error = program_load(program, &install->settings, &install->conf, offsets, counts);
	return error ? explain_load(error, install->debug)
		     : allow_fill(&program->lists, &install->conf, install->ifindex);
}

static int put_program(const struct install *install, const struct program *program)
{
	int error = pins_put_program(install->interface, program);

	return error ? explain_folder(install->interface, error) : COMMAND_OK;
}

static int put_companion(const struct install *install, const struct program *program)
{
	int error = companion_put(install->interface, install->ifindex, program->companion);

	return error ? explain_companion(install->interface, error) : COMMAND_OK;
}

static int keep_next(const struct install *install, const struct pins *old, const struct program *program)
{
	int error = next_keep(install->interface, old, program);

	return error ? command_error(
			       "%s: the program that runs after this one (glb-redirect next) cannot run after this version: %s",
			       install->interface, strerror(-error))
		     : COMMAND_OK;
}

/* An older version of the program may have no companion. Then the new companion comes before the new program. */
static int put_companion_if_missing(const struct install *install, const struct program *program)
{
	enum companion_place place;
	int error = companion_find(install->interface, install->ifindex, &place);

	if (error)
		return explain_companion(install->interface, error);
	return place == COMPANION_MISSING ? put_companion(install, program) : COMMAND_OK;
}

/* The program is attached as long as the link is open or pinned, so a loader that is killed before the pin
 * detaches it. */
static int link_new(const struct install *install, const struct program *program)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = install->generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);
	int link = bpf_link_create(program->program, (int)install->ifindex, BPF_XDP, &opts), error;

	if (link < 0)
		return explain_attach(install->interface, install->generic, link);
	error = pins_put(install->interface, PINS_LINK, "", link);
	close(link);
	return error ? explain_folder(install->interface, error) : COMMAND_OK;
}

int install_new(struct install *install)
{
	struct program program;
	int code = load(install, &PROGRAM_COUNTS_NEW, &program);

	if (code == COMMAND_OK)
		code = put_program(install, &program);
	if (code == COMMAND_OK)
		code = put_companion(install, &program);
	if (code == COMMAND_OK)
		code = link_new(install, &program);
	if (code == COMMAND_OK) {
		finish(install, &program, "attached");
	} else {
		companion_remove(install->interface, install->ifindex);
		pins_remove(install->interface);
	}
	program_unload(&program);
	return code;
}

static int copy_counters(
	const struct install *install, const struct pins *old, uint32_t known, const struct program *program)
{
	int error = 0;

	if (known == 0)
		command_note("the attached program has other counters than version " GLB_VERSION
			     ", so all counters start at 0");
	else if (known < REDIRECT_COUNTER_COUNT)
		error = pins_copy_counters(old, program->counters, known);
	return error ? explain_folder(install->interface, error) : COMMAND_OK;
}

static int update_link(const struct install *install, const struct pins *old, const struct program *program)
{
	int error = bpf_link_update(old->link, program->program, NULL);

	return error ? explain_attach(install->interface, install->generic, error) : COMMAND_OK;
}

static int install_replace(struct install *install, const struct pins *old)
{
	uint32_t known = pins_known_counters(old);
	const struct program_counts counts = {
		.counters = known == REDIRECT_COUNTER_COUNT ? old->counters : -1,
		.hops = pins_has_hops(old) ? old->hops : -1,
	};
	struct program program;
	int code = load(install, &counts, &program);

	pins_remove_others(install->interface, old->program_id);
	if (code == COMMAND_OK)
		code = copy_counters(install, old, known, &program);
	if (code == COMMAND_OK)
		code = put_program(install, &program);
	if (code == COMMAND_OK)
		code = keep_next(install, old, &program);
	if (code == COMMAND_OK)
		code = put_companion_if_missing(install, &program);
	if (code == COMMAND_OK)
		code = update_link(install, old, &program);
	pins_remove_others(install->interface, code == COMMAND_OK ? program.id : old->program_id);
	if (code == COMMAND_OK)
		code = put_companion(install, &program);
	if (code == COMMAND_OK)
		finish(install, &program, "replaced the attached program");
	program_unload(&program);
	return code;
}

int install_check_and_replace(struct install *install, const struct pins *old)
{
	struct pins_location location;
	int error = pins_locate(install->interface, old, &location);
	bool generic = location.mode == XDP_ATTACHED_SKB;

	if (error)
		return explain_query(install->interface, error);
	if (location.place == PINS_ELSEWHERE)
		return explain_elsewhere(install->interface);
	if (location.place == PINS_RENAMED)
		return command_error(
			"%s: the program is still attached to the interface that had this name, which is called %s now: run glb-redirect detach %s first",
			install->interface, location.name, install->interface);
	if (install->has_mode && install->generic != generic)
		return command_error("%s: the program is attached in %s mode: detach it first to change the mode",
			install->interface, loader_mode_name(location.mode));
	install->generic = generic;
	if (!generic)
		interface_check_tags(install->interface, &install->conf, true);
	return install_replace(install, old);
}
