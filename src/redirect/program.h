/* SPDX-License-Identifier: BSD-3-Clause */
/* The eBPF program in the loader's hands. */
#ifndef GLB_REDIRECT_PROGRAM_H
#define GLB_REDIRECT_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "redirect/redirect.h"

struct redirect_bpf;

struct program {
	struct redirect_bpf *skeleton;
	int program, counters, settings; /* descriptors, which the skeleton owns */
};

/* Identifies the first `count` in the list of counters. */
uint32_t program_layout(uint32_t count);

/*
 * wanted: layout and version are filled in here. counters: a map to count in, or -1 for a new one.
 * 0 or -errno; program_unload() frees in either case.
 */
int program_load(struct program *program, const struct redirect_settings *wanted, int counters);
void program_unload(struct program *program);

#endif
