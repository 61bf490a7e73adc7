/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines of all programs. A struct command describes a subcommand, or a program without subcommands; parsing,
 * --help and the shells' completion all use this description. One thread. Nothing here exits.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/faults.h"

/* Exit codes that all programs share. */
enum {
	COMMAND_OK = 0,
	COMMAND_FAILED = 1, /* bad input, an I/O error or a missing permission */
	COMMAND_USAGE = 2, /* invalid command line */
};

#define COMMAND_MAX_OPTIONS 20

struct command_option {
	const char *name; /* without dashes; NULL ends the array */
	/* The argument's name in --help, or its words like "2|3"; "[=NAME]": can be left out; NULL: the option takes
	 * none. */
	const char *argument;
	const char *help; /* --help breaks it into lines, and adds the default */
	/* Some options also have: */
	const char *fallback; /* the argument if the option is not given; NULL: none */
	uint32_t min, max; /* of an argument that is a number; max 0: it is no number */
};

/* The parsed command line of a subcommand. The strings are those of argv. */
struct command_args {
	/* In the order of the command's options; NULL: not given, "": given without an argument. */
	const char *options[COMMAND_MAX_OPTIONS];
	const char *values[COMMAND_MAX_OPTIONS]; /* the same, or the default */
	uint32_t numbers[COMMAND_MAX_OPTIONS]; /* the values, if they are numbers; of words like "on|off" the index */
	int count; /* of operands */
	char **operands;
};

struct command {
	const char *name; /* "": the program has no subcommands */
	int (*run)(const struct command_args *args); /* returns the exit code; NULL: for command_parse() only */
	/* Their names, as --help and completion have them: "TABLE [FILE...]" are one or more. What stands before "--"
	 * does not count. NULL: takes none. */
	const char *operands;
	int hidden_operands; /* how many may follow that --help does not name */
	const char *summary; /* a sentence without full stop */
	const struct command_option *options;
	/* A short option for each option, for help and for version; ' ': the option has none. NULL: only -h. */
	const char *letters;
	const char *note; /* text after the options in --help, without a newline at its end; NULL: none */
	void (*more)(void); /* prints what --help has after the note; NULL: nothing */
};

/*
 * Offers values to the shell with command_offer(). `what` is the name of an operand in --help, or an option with its
 * dashes; args has the words before the cursor.
 */
typedef void command_values(const char *what, const struct command_args *args);

struct command_program {
	const char *name;
	const char *note; /* the last line of --help; NULL: none */
	const struct command *const *commands;
	size_t count;
	/* Checks the operands of every subcommand before run(). Returns COMMAND_OK, or the exit code. NULL:
	 * no check. */
	int (*check)(const struct command_args *args);
	command_values *values; /* NULL: offers none */
};

/* Runs the subcommand that argv names. Returns the exit code for main(). */
int command_main(const struct command_program *program, int argc, char **argv);

/*
 * Sets the program's name for messages, and lets the kernel write no core of this process. Other processes of its user
 * cannot read its memory any more. command_main() does this itself.
 */
void command_open(const char *program);

/*
 * Parses argv[1..] for a program without subcommands, and handles --help, --version and completion. Returns true; or
 * false: the program ends with *code.
 */
bool command_parse(const struct command *command, int argc, char **argv, struct command_args *args, int *code);

/* The first word of a command line for completion, which --help does not show: PROGRAM --complete WORD... */
#define COMMAND_COMPLETE "--complete"

/*
 * Print "PROGRAM: ..." on stderr. command_usage() also says how to get help. They return COMMAND_FAILED
 * and COMMAND_USAGE.
 */
int command_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int command_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints an error or a warning as command_error() does. A callback for faults_report(). */
void command_fault(void *unused, bool warning, const char *text);

/* Prints the faults of these kinds as command_error() does, and clears all. Returns COMMAND_FAILED. */
int command_faults(struct faults *faults, enum faults_kinds kinds);

/* Prints "PROGRAM: note: ..." on stderr. */
void command_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For a command without options of its own. */
#define COMMAND_NO_OPTIONS ((const struct command_option[]){{0}})

#define COMMAND_COLUMNS 80

/*
 * Print a line for people on stdout. A line of more than COMMAND_COLUMNS columns is broken at spaces, and its other
 * lines are indented by `indent` columns. The text may come from a stranger: bytes that are no characters become '?'.
 */
void command_print(unsigned indent, const char *format, ...) __attribute__((format(printf, 2, 3)));
void command_vprint(unsigned indent, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

#define COMMAND_FAULT_MAX 256

/* Sets args->values and args->numbers from args->options, as the parser does. False: `fault` says what is wrong. */
bool command_read_values(const struct command_option *option, struct command_args *args, char fault[COMMAND_FAULT_MAX]);

/* Offers a word to the shell that completes a command line. `help` may be NULL. */
void command_offer(const char *word, const char *help);
