/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. Strings are borrowed from argv. */
#ifndef GLB_HEALTHCHECK_OPTIONS_H
#define GLB_HEALTHCHECK_OPTIONS_H

#include <stdbool.h>

struct options {
	const char *config_file;
	bool check_once, debug;
};

/* Exits by itself for --help and --version (0) and for a usage error (2, which it explains). */
struct options options_parse(int argc, char **argv);

#endif
