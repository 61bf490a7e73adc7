/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/program.h"

#include <errno.h>
#include <stdio.h>

#include <bpf/bpf.h>

#include "redirect.skel.h"

uint32_t program_layout(uint32_t count)
{
	static const char *const names[] = {
#define X(symbol, name, help) name " ",
		REDIRECT_COUNTER_LIST(X)
#undef X
	};
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (uint32_t i = 0; i < count; i++)
		for (const char *at = names[i]; *at; at++)
			hash = (hash ^ (uint8_t)*at) * 16777619u;
	return hash;
}

static int read_id(struct program *program)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int error = bpf_obj_get_info_by_fd(program->program, &info, &size);

	program->id = info.id;
	return error;
}

/* Linux before 5.18 refuses the flag. */
static void accept_frags(struct redirect_bpf *skeleton)
{
	skeleton->rodata->settings.frags = 1;
	bpf_program__set_flags(
		skeleton->progs.glb_redirect, bpf_program__flags(skeleton->progs.glb_redirect) | BPF_F_XDP_HAS_FRAGS);
}

/* fd: of a map to use in place of `map`, or -1. */
static int take_over(struct bpf_map *map, int fd)
{
	return fd < 0 ? 0 : bpf_map__reuse_fd(map, fd);
}

static int load_once(struct program *program, const struct redirect_settings *wanted,
	const struct program_counts *counts, bool frags)
{
	struct redirect_bpf *skeleton = redirect_bpf__open();
	struct redirect_settings *settings;
	int error;

	*program = (struct program){.skeleton = skeleton};
	if (!skeleton)
		return -errno;
	settings = &skeleton->rodata->settings;
	*settings = *wanted;
	settings->layout = program_layout(REDIRECT_COUNTER_COUNT);
	snprintf(settings->version, sizeof(settings->version), "%s", GLB_VERSION);
	if (frags)
		accept_frags(skeleton);
	error = take_over(skeleton->maps.counters, counts->counters);
	if (!error)
		error = take_over(skeleton->maps.hops, counts->hops);
	if (!error)
		error = redirect_bpf__load(skeleton);
	if (error)
		return error;
	program->program = bpf_program__fd(skeleton->progs.glb_redirect);
	program->companion = bpf_program__fd(skeleton->progs.glb_checksum);
	program->counters = bpf_map__fd(skeleton->maps.counters);
	program->hops = bpf_map__fd(skeleton->maps.hops);
	program->next = bpf_map__fd(skeleton->maps.next);
	program->settings = bpf_map__fd(skeleton->maps.rodata);
	program->lists.prefixes = bpf_map__fd(skeleton->maps.lists);
	program->lists.generation = bpf_map__fd(skeleton->maps.bss);
	return read_id(program);
}

/*
 * In generic mode the kernel gives the program each frame in one piece. For a program with the flag it would copy the
 * frame into a new socket buffer, in which tc programs do not find the Ethernet header and our mark (seen on Linux 6.18).
 */
int program_load(struct program *program, struct redirect_settings *wanted, const struct program_counts *counts)
{
	bool generic = wanted->checksums == REDIRECT_CHECKSUMS_KERNEL;
	int error = generic ? 0 : load_once(program, wanted, counts, true);

	wanted->frags = !generic && !error;
	if (wanted->frags)
		return 0;
	if (error)
		program_unload(program);
	return load_once(program, wanted, counts, false);
}

void program_unload(struct program *program)
{
	redirect_bpf__destroy(program->skeleton);
	program->skeleton = NULL;
}
