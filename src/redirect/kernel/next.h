/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The next program: an XDP program of another tool, which runs after ours for every packet that ours passes. It is an
 * entry of our program's map, so the kernel adds, replaces and removes it between two packets. Its pin is in the folder
 * of our program.
 *
 * One thread. Functions that return int return 0 or -errno. The caller holds loader_lock() to change something.
 */
#pragma once

#include <stdint.h>

#include "redirect/kernel/pins.h"
#include "redirect/kernel/program.h"

/* The id of the next program of an attached program, or 0. */
uint32_t next_find(const struct pins *pins);

/*
 * Gives `program`, which is not attached yet, and whose maps are pinned, the next program of the attached one, if that
 * has any.
 */
int next_keep(const char *interface, const struct pins *old, const struct program *program);
