/* SPDX-License-Identifier: BSD-3-Clause */
/* The director's own command line: what follows "--". Strings are borrowed from argv. */
#ifndef GLB_DIRECTOR_OPTIONS_H
#define GLB_DIRECTOR_OPTIONS_H

#include <stdbool.h>

struct options {
	const char *config_file, *forwarding_table;
	bool debug;
};

/* Exits by itself for --help and --version (0) and for a usage error (2, which it explains). */
struct options options_parse(int argc, char **argv);

#endif
