/* SPDX-License-Identifier: BSD-3-Clause */
/* The director's own options, which follow "--" on the command line. The strings belong to argv. */
#pragma once

#include <stdbool.h>

struct options {
	const char *config_file, *forwarding_table;
	bool debug;
};

/* Exits with status 0 after --help and --version, and with 2 after printing a usage error. */
struct options options_parse(int argc, char **argv);
