/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the subcommands of glb-redirect share. One thread; these files print and exit codes are
 * theirs.
 */
#ifndef GLB_REDIRECT_LOADER_H
#define GLB_REDIRECT_LOADER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "redirect.h"

#define LOADER_NAME    "glb-redirect"
#define LOADER_PROGRAM "glb_redirect" /* as the kernel knows it */

enum {
	LOADER_OK = 0,
	LOADER_FAILED = 1,
	LOADER_USAGE = 2,
};

#define LOADER_MAX_OPTIONS 8

struct loader_option {
	const char *name;     /* without dashes; NULL ends the list */
	const char *argument; /* as help shows it; NULL: takes none */
	const char *help;
};

/* The command line of a subcommand, taken apart. */
struct loader_args {
	/* In the order of the command's options, "" for no argument; NULL: not given. */
	const char *options[LOADER_MAX_OPTIONS];
	const char *interface; /* NULL: not given */
};

struct loader_command {
	const char *name;
	int (*run)(const struct loader_args *args); /* returns the exit code */
	const char *operands;
	bool needs_interface;
	const char *summary;
	const struct loader_option *options;
};

/* One for each file of this name. */
extern const struct loader_command attach_command, detach_command, status_command, stats_command;

/* "glb-redirect: ..." on stderr; return LOADER_FAILED, or LOADER_USAGE with a pointer to --help. */
int loader_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int loader_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
void loader_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "native" or "generic" of an XDP_ATTACHED_* value. */
const char *loader_mode_name(uint8_t attached);
const char *loader_udp_name(uint16_t udp);

#endif
