/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of CPUs as the kernel and EAL write them, such as "0-3,8". Pure, thread-safe. */
#pragma once

#include <sched.h>
#include <stdbool.h>

#define CPU_LIST_TEXT_MAX 256

/* Reads numbers below CPU_SETSIZE up to a character that belongs to no list, and moves *text there. False: it is no
 * list. */
bool cpu_list_take(const char **text, cpu_set_t *cpus);

/* The same for a whole text, which may end with a newline. An empty text is an empty list. */
bool cpu_list_read(const char *text, cpu_set_t *cpus);

/* Writes the list, and "..." at its end if it is too long. Returns buf. */
const char *cpu_list_text(const cpu_set_t *cpus, char buf[CPU_LIST_TEXT_MAX]);

/* Returns the CPUs of `cpus` that `others` does not have. */
cpu_set_t cpu_list_without(const cpu_set_t *cpus, const cpu_set_t *others);
