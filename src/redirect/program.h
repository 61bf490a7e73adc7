/* SPDX-License-Identifier: BSD-3-Clause */
/* The eBPF program in the loader's hands. */
#ifndef GLB_REDIRECT_PROGRAM_H
#define GLB_REDIRECT_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "redirect.h"

struct redirect_bpf;

struct program {
	struct redirect_bpf *skeleton;
	int program, counters, settings; /* descriptors, which the skeleton owns */
};

/* Identifies the list of counters. */
uint32_t program_layout(void);

/*
 * counters: a map to count in, or -1 for a new one. 0 or -errno; program_unload() frees in either
 * case.
 */
int program_load(struct program *program, uint16_t port, enum redirect_udp udp, int counters);
void program_unload(struct program *program);

#endif
