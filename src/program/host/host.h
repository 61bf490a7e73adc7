/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads files of the host below a root folder: "" for this host, or the folder of an image or of a copy. Never writes.
 * One thread, because host_path() has static memory.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

struct host {
	const char *root;
};

/* Returns ROOT and the path that the format makes. The last 8 results stay valid. */
const char *host_path(const struct host *host, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool host_exists(const char *path);

/* Opens a file for reading, without waiting for the writer of a FIFO. NULL: it cannot be read. */
FILE *host_open(const char *path);

/* Reads the first line of a file without its newline. Returns false, and an empty text, if that fails. */
#define HOST_LINE_MAX 4096
bool host_line(const char *path, char line[HOST_LINE_MAX]);

/* Reads a number. Returns false if there is none. */
bool host_number(const char *path, long *number);

/* Reads a list of CPUs, or false. */
bool host_cpus(const char *path, cpu_set_t *cpus);

/* Writes the last part of the link's target, for instance a driver's name. Returns false, and an empty text, if there
 * is no link. */
#define HOST_ENTRY_MAX 256
bool host_link(const char *path, char name[HOST_ENTRY_MAX]);

/* Writes the name of the first entry of the folder, in the order of their names. Returns false, and an empty text, if
 * there is none. */
bool host_first(const char *folder, char name[HOST_ENTRY_MAX]);

/* Calls `each` with the name of every entry of the folder, in the order of their names. */
void host_each(const char *folder, void (*each)(void *context, const char *name), void *context);
