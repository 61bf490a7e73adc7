/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs programs that consist of subcommands. A struct command describes a subcommand; parsing, --help
 * and completion all use this description. One thread. Nothing here exits.
 */
#ifndef GLB_PROGRAM_COMMAND_H
#define GLB_PROGRAM_COMMAND_H

#include <stddef.h>

/* Exit codes that all programs share. */
enum {
	COMMAND_OK = 0,
	COMMAND_FAILED = 1, /* bad input, an I/O error or a missing permission */
	COMMAND_USAGE = 2, /* invalid command line */
};

#define COMMAND_MAX_OPTIONS  20
#define COMMAND_ANY_OPERANDS 1000000

struct command_option {
	const char *name; /* without dashes; NULL ends the array */
	/* The argument's name in --help; "[=NAME]": can be left out; NULL: the option takes none. */
	const char *argument;
	const char *help;
};

/* The parsed command line of a subcommand. The strings are those of argv. */
struct command_args {
	/* In the order of the command's options; NULL: not given, "": given without an argument. */
	const char *options[COMMAND_MAX_OPTIONS];
	int count; /* of operands */
	char **operands;
};

struct command {
	const char *name;
	int (*run)(const struct command_args *args); /* returns the exit code */
	const char *operands; /* their names in --help; "": takes none */
	int min_operands, max_operands;
	const char *summary; /* a sentence without full stop */
	const struct command_option *options;
	const char *note; /* text after the options in --help, without a newline at its end; NULL: none */
};

struct command_program {
	const char *name;
	const char *note; /* the last line of --help; NULL: none */
	const struct command *const *commands;
	size_t count;
	/* Checks the operands of every subcommand before run(). Returns COMMAND_OK, or the exit code. NULL: no check. */
	int (*check)(const struct command_args *args);
};

/* Runs the subcommand that argv names. Returns the exit code for main(). */
int command_main(const struct command_program *program, int argc, char **argv);

/*
 * Print "PROGRAM: ..." on stderr. command_usage() also says how to get help. They return COMMAND_FAILED
 * and COMMAND_USAGE.
 */
int command_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int command_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "PROGRAM: note: ..." on stderr. */
void command_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
