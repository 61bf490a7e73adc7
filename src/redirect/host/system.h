/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel, the drivers and this process can do. Only reads. One thread, because some results are static. */
#pragma once

#include <stdbool.h>

#define SYSTEM_OLDEST_KERNEL 510

/* The kernel's version as 100 * major + minor, and as text. */
int system_kernel(void);
const char *system_release(void);

/* Returns whether this process may read the maps of eBPF programs. */
bool system_can_read_maps(void);

/* Writes the names of the capabilities that this process lacks, with spaces between them. Returns false if
 * it has all. */
#define SYSTEM_CAPABILITIES_MAX 64
bool system_missing_capabilities(char missing[SYSTEM_CAPABILITIES_MAX]);

/* Writes the name of the interface's driver, "unknown" if it tells none. */
#define SYSTEM_DRIVER_MAX 32
void system_driver(const char *interface, char driver[SYSTEM_DRIVER_MAX]);

/*
 * Reads the number in a file of /proc/sys. The format makes its path, such as "net/ipv4/conf/%s/rp_filter". Returns
 * false if there is no such setting.
 */
bool system_setting(long *value, const char *format, ...) __attribute__((format(printf, 2, 3)));
