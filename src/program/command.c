/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/command.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *program_name = "";

static void print_line(const char *kind, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

static void print_line(const char *kind, const char *format, va_list args)
{
	fflush(stdout); /* keeps the order of both streams on a terminal */
	fprintf(stderr, "%s: %s", program_name, kind);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int command_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("", format, args);
	va_end(args);
	return COMMAND_FAILED;
}

int command_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("", format, args);
	va_end(args);
	fprintf(stderr, "Try '%s --help' or '%s SUBCOMMAND --help'.\n", program_name, program_name);
	return COMMAND_USAGE;
}

void command_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("note: ", format, args);
	va_end(args);
}

static int print_help(const struct command_program *program)
{
	printf("usage: %s SUBCOMMAND [OPERANDS] [OPTIONS]\n\n", program->name);
	for (size_t i = 0; i < program->count; i++)
		printf("  %-13s %s\n", program->commands[i]->name, program->commands[i]->summary);
	printf("\nFor the options of a subcommand: %s SUBCOMMAND --help\n", program->name);
	printf("For the version: %s --version\n", program->name);
	if (program->note)
		puts(program->note);
	return COMMAND_OK;
}

/* Writes "--name ARGUMENT" as --help shows it. Returns its length. */
static int format_option(const struct command_option *option, char *text, size_t size)
{
	return snprintf(text, size, "--%s%s%s", option->name, option->argument && *option->argument != '[' ? " " : "",
		option->argument ? option->argument : "");
}

static int print_command_help(const struct command *command)
{
	const struct command_option *option;
	char left[64];
	int width = 22; /* fits the options of most subcommands */

	printf("usage: %s %s%s%s [OPTIONS]\n\n%s.\n\n", program_name, command->name, command->operands[0] ? " " : "",
		command->operands, command->summary);
	for (option = command->options; option->name; option++) {
		int length = format_option(option, left, sizeof(left));

		width = length > width ? length : width;
	}
	for (option = command->options; option->name; option++) {
		format_option(option, left, sizeof(left));
		printf("  %-*s %s\n", width, left, option->help);
	}
	printf("  %-*s print this help\n  %-*s print the version\n", width, "--help", width, "--version");
	if (command->note)
		printf("\n%s\n", command->note);
	return COMMAND_OK;
}

static int print_version(void)
{
	printf("%s " GLB_VERSION "\n", program_name);
	return COMMAND_OK;
}

/* Prints words for the completion script: the options of subcommand `name`, or with NULL the subcommands. */
static int print_words(const struct command_program *program, const char *name)
{
	for (size_t i = 0; i < program->count; i++) {
		const struct command_option *option = program->commands[i]->options;

		if (!name)
			puts(program->commands[i]->name);
		else if (strcmp(program->commands[i]->name, name) == 0)
			for (; option->name; option++)
				printf("--%s\n", option->name);
	}
	if (name)
		puts("--help\n--version");
	return COMMAND_OK;
}

enum {
	OPTION_HELP = COMMAND_MAX_OPTIONS,
	OPTION_VERSION,
};

static int argument_kind(const char *argument)
{
	return !argument ? no_argument : *argument == '[' ? optional_argument : required_argument;
}

static void fill_options(const struct command *command, struct option *options)
{
	int count = 0;

	for (; command->options[count].name; count++)
		options[count] = (struct option){
			.name = command->options[count].name,
			.has_arg = argument_kind(command->options[count].argument),
			.val = count,
		};
	options[count++] = (struct option){.name = "help", .val = OPTION_HELP};
	options[count++] = (struct option){.name = "version", .val = OPTION_VERSION};
	options[count] = (struct option){0};
}

static int run(const struct command_program *program, const struct command *command, int argc, char **argv)
{
	struct option options[COMMAND_MAX_OPTIONS + 3];
	struct command_args args = {0};
	int option;

	fill_options(command, options);
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 'h':
		case OPTION_HELP:
			return print_command_help(command);
		case OPTION_VERSION:
			return print_version();
		case ':':
			return command_usage("%s: %s needs an argument", command->name, argv[optind - 1]);
		case '?':
			/* optopt is the letter of an unknown short option, which can be one of several in argv[]. */
			if (optopt > OPTION_VERSION)
				return command_usage("%s: unknown option '-%c'", command->name, optopt);
			return command_usage("%s: unknown option '%s'", command->name, argv[optind - 1]);
		default:
			args.options[option] = optarg ? optarg : "";
		}
	}
	args.count = argc - optind;
	args.operands = argv + optind;
	if (args.count < command->min_operands)
		return command_usage("%s: missing operand; the operands are: %s", command->name, command->operands);
	if (args.count > command->max_operands)
		return command_usage("%s: unexpected operand '%s'", command->name, args.operands[command->max_operands]);
	if (program->check) {
		int code = program->check(&args);

		if (code != COMMAND_OK)
			return code;
	}
	return command->run(&args);
}

static int dispatch(const struct command_program *program, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name)
		return command_usage("a subcommand is missing");
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return print_help(program);
	if (strcmp(name, "--version") == 0)
		return print_version();
	if (strcmp(name, "--words") == 0)
		return print_words(program, argv[2]);
	for (size_t i = 0; i < program->count; i++)
		if (strcmp(name, program->commands[i]->name) == 0)
			return run(program, program->commands[i], argc - 1, argv + 1);
	return command_usage("unknown subcommand '%s'", name);
}

int command_main(const struct command_program *program, int argc, char **argv)
{
	int code;

	program_name = program->name;
	code = dispatch(program, argc, argv);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		command_error("cannot write to standard output");
		return code == COMMAND_OK ? COMMAND_FAILED : code;
	}
	return code;
}
