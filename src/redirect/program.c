/* SPDX-License-Identifier: BSD-3-Clause */
#include "program.h"

#include <errno.h>
#include <stdio.h>

#include "redirect.skel.h"

uint32_t program_layout(void)
{
	static const char list[] =
#define X(symbol, name, help) name " "
		REDIRECT_COUNTER_LIST(X)
#undef X
		;
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (const char *at = list; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 16777619u;
	return hash;
}

int program_load(struct program *program, uint16_t port, enum redirect_udp udp, int counters)
{
	struct redirect_bpf *skeleton = redirect_bpf__open();
	struct redirect_settings *settings;
	int error;

	*program = (struct program){.skeleton = skeleton};
	if (!skeleton)
		return -errno;
	settings = (struct redirect_settings *)&skeleton->rodata->settings;
	settings->layout = program_layout();
	settings->port = port;
	settings->udp = (uint16_t)udp;
	snprintf(settings->version, sizeof(settings->version), "%s", GLB_VERSION);
	if (counters >= 0) {
		error = bpf_map__reuse_fd(skeleton->maps.counters, counters);
		if (error)
			return error;
	}
	error = redirect_bpf__load(skeleton);
	if (error)
		return error;
	program->program = bpf_program__fd(skeleton->progs.glb_redirect);
	program->counters = bpf_map__fd(skeleton->maps.counters);
	program->settings = bpf_map__fd(skeleton->maps.rodata);
	return 0;
}

void program_unload(struct program *program)
{
	redirect_bpf__destroy(program->skeleton);
	program->skeleton = NULL;
}
