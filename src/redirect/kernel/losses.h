/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts packets for the next hop that were lost after the program (bpf/losses.bpf.c). The pins are in the folder
 * `losses` of the interface, and stay when the XDP program is replaced. This is extra: without it forwarding is the
 * same.
 *
 * One thread. The functions print nothing.
 */
#pragma once

#include <stdint.h>

#include "redirect/kernel/losses_wire.h"

/* "kernel" or "driver": who refused the packets. */
extern const char *const losses_names[LOSSES_COUNT];

/* Starts to count, unless it counts already. The interface's folder must exist. Returns 0 or -errno. */
int losses_watch(const char *interface, uint32_t ifindex);

/* Returns -ENOENT if nothing counts. */
int losses_read(const char *interface, uint64_t values[LOSSES_COUNT]);
