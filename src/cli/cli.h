/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the subcommands share: how they are described, called, and report. One thread; only these
 * files print and exit.
 */
#ifndef GLB_CLI_CLI_H
#define GLB_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "common/faults.h"
#include "director/conf.h"
#include "director/routes.h"
#include "table/table.h"

#define CLI_NAME "glb-director-cli"

/* Exit codes: docs/reference/cli.md. */
enum {
	CLI_OK = 0,
	CLI_FAILED = 1, /* bad input, I/O */
	CLI_USAGE = 2,
	CLI_BROKEN = 3, /* diff: connections would break */
	CLI_CHECK_WARNINGS = 1,
	CLI_CHECK_ERRORS = 2,
};

#define CLI_MAX_OPTIONS  8
#define CLI_ANY_OPERANDS 1000000

struct cli_option {
	const char *name;     /* without dashes; NULL ends the list */
	const char *argument; /* as help shows it; NULL: takes none */
	const char *help;
};

/* The command line of a subcommand, taken apart. */
struct cli_args {
	const char *options[CLI_MAX_OPTIONS]; /* arguments in the order of the command's options, ""
						 for none; NULL: not given */
	int count;
	char **operands;
};

struct cli_command {
	const char *name;
	int (*run)(const struct cli_args *args); /* returns the exit code */
	const char *operands;                    /* as help shows them */
	int min_operands, max_operands;
	const char *summary;
	const struct cli_option *options;
};

/* One for each file of this name. */
extern const struct cli_command build_config_command, check_command, show_command, lookup_command,
	diff_command, replay_command, decode_command, reload_command, stats_command;

/* "glb-director-cli: ..." on stderr; returns CLI_FAILED, or CLI_USAGE with a pointer to --help. */
int cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Errors, and warnings if wanted, on stderr; clears the faults. Returns CLI_FAILED. */
int cli_print_faults(struct faults *faults, bool warnings);

/* Prints `json`, which it takes over, on stdout. Returns CLI_OK or CLI_FAILED. */
int cli_print_json(json_t *json);

/* Read a file, or print why not and return false. The caller frees the result. *version: 0 for
 * JSON; may be NULL. */
bool cli_load_table(const char *path, struct table_set *set, uint32_t *version);
bool cli_load_routes(const char *path, struct routes **routes, uint32_t *version);
bool cli_load_conf(const char *path, struct conf *conf);

/* False where text is no decimal number from 0 to max. */
bool cli_parse_number(const char *text, uint32_t max, uint32_t *number);

#define CLI_BIND_MAX (NETPREFIX_TEXT_MAX + 32)

/* "tcp 10.0.0.0/8 port 80-90"; returns buf. The JSON has the keys ip, proto, port_start and
 * port_end. */
const char *cli_bind_text(const struct table_bind *bind, char buf[CLI_BIND_MAX]);
json_t *cli_bind_json(const struct table_bind *bind);

/* "up", "down" */
const char *cli_health_name(bool healthy);

#endif
