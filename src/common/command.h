/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs made of subcommands: how these are described, called and report. The description is the
 * only one: parsing, --help and completion come from it. For main threads only: prints, but never
 * exits.
 */
#ifndef GLB_COMMON_COMMAND_H
#define GLB_COMMON_COMMAND_H

#include <stddef.h>

/* Exit codes that all programs share. */
enum {
	COMMAND_OK = 0,
	COMMAND_FAILED = 1, /* bad input, I/O, not permitted */
	COMMAND_USAGE = 2,
};

#define COMMAND_MAX_OPTIONS  8
#define COMMAND_ANY_OPERANDS 1000000

struct command_option {
	const char *name; /* without dashes; NULL ends the list */
	const char *argument; /* as help shows it; NULL: takes none */
	const char *help;
};

/* The command line of a subcommand, taken apart. */
struct command_args {
	/* In the order of the command's options, "" for no argument; NULL: not given. */
	const char *options[COMMAND_MAX_OPTIONS];
	int count;
	char **operands; /* count of them */
};

struct command {
	const char *name;
	int (*run)(const struct command_args *args); /* returns the exit code */
	const char *operands; /* as help shows them */
	int min_operands, max_operands;
	const char *summary;
	const struct command_option *options;
};

struct command_program {
	const char *name;
	const char *note; /* the end of --help; NULL: none */
	const struct command *const *commands;
	size_t count;
	/* Called before run(), which COMMAND_OK lets go on; NULL: none. */
	int (*check)(const struct command_args *args);
};

/* Runs the subcommand that argv names, and returns the exit code for main(). */
int command_main(const struct command_program *program, int argc, char **argv);

/* "PROGRAM: ..." on stderr; return COMMAND_FAILED, or COMMAND_USAGE with a pointer to --help. */
int command_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int command_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "PROGRAM: note: ..." on stderr. */
void command_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
