/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. Strings are borrowed from argv. */
#pragma once

#include <stdbool.h>

struct options {
	const char *config_file;
	bool check_once, debug;
	/* Ask a running daemon instead of being one. json: print its reply to `status`. */
	bool status, reload, json;
};

/* Exits with 0 after --help and --version, and with 2 after a message about a usage error. */
struct options options_parse(int argc, char **argv);
