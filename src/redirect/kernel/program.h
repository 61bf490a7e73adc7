/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the eBPF program into the kernel. One thread. */
#pragma once

#include <stdint.h>

#include "redirect/kernel/lists.h"
#include "redirect/redirect.h"

struct redirect_bpf;

struct program {
	struct redirect_bpf *skeleton;
	uint32_t id; /* of the program, in the kernel */
	/* File descriptors, which the skeleton owns. */
	int program, companion, counters, hops, settings, next;
	struct lists lists;
};

/* Descriptors of the maps to count in, or -1 for a new map. */
struct program_counts {
	int counters, hops;
};

#define PROGRAM_BTF "/sys/kernel/btf/vmlinux"

#define PROGRAM_COUNTS_NEW ((struct program_counts){-1, -1})

/* Returns a hash of the names of the first `count` counters, which identifies this list. */
uint32_t program_layout(uint32_t count);

/* Reads the offsets from the kernel's BTF, or sets is_known to 0. -errno: there is BTF, but it cannot be read. */
int program_find_offsets(struct redirect_offsets *offsets);

/*
 * Loads the program with the `wanted` settings; sets their members frags and without_numbers, and in the program also
 * layout and version. Returns 0 or -errno. The caller calls program_unload() in either case. The lists of the new
 * program are empty: it accepts no packet. Of `conf` it uses what concerns QUIC; lists_put_conf() writes the rest.
 */
int program_load(struct program *program, struct redirect_settings *wanted, const struct redirect_conf *conf,
	struct redirect_offsets offsets, const struct program_counts *counts);
void program_unload(struct program *program);
