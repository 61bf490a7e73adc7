/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/text.h"
#include "program/command/command_parts.h"

static const char *program_name = "";
static bool has_subcommands;

static void print_line(const char *kind, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Names of files and texts from files may have control characters: a terminal must not obey them. */
static void print_line(const char *kind, const char *format, va_list args)
{
	char *line;

	if (vasprintf(&line, format, args) < 0)
		line = NULL;
	else
		text_mend(line);
	fflush(stdout); /* keeps the order of both streams on a terminal */
	fprintf(stderr, "%s: %s%s\n", program_name, kind, line ? line : "out of memory");
	free(line);
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
	fprintf(stderr, "Try '%s --help'", program_name);
	if (has_subcommands)
		fprintf(stderr, " or '%s SUBCOMMAND --help'", program_name);
	fputs(".\n", stderr);
	return COMMAND_USAGE;
}

void command_fault(void *, bool warning, const char *text)
{
	command_error("%s%s", warning ? "warning: " : "", text);
}

int command_faults(struct faults *faults, enum faults_kinds kinds)
{
	faults_report(faults, kinds, command_fault, NULL);
	faults_clear(faults);
	return COMMAND_FAILED;
}

void command_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("note: ", format, args);
	va_end(args);
}

static int print_version(void)
{
	printf("%s " GLB_VERSION "\n", program_name);
	return COMMAND_OK;
}

/* Results of getopt_long() beside the indices of the command's options. Letters are larger. */
enum {
	OPTION_HELP = COMMAND_MAX_OPTIONS,
	OPTION_VERSION,
};

#define LETTERS_MAX (2 * (COMMAND_MAX_OPTIONS + 2) + 2)

static int argument_kind(const char *argument)
{
	return !argument ? no_argument : *argument == '[' ? optional_argument : required_argument;
}

/* Describes the options for getopt_long(). Returns how many options the command has. */
static int fill_options(const struct command *command, struct option *options, char letters[LETTERS_MAX])
{
	const char *letter = command->letters;
	int count = 0;

	*letters++ = ':';
	for (; command->options[count].name; count++) {
		int kind = argument_kind(command->options[count].argument);

		options[count] = (struct option){
			.name = command->options[count].name,
			.has_arg = kind,
			.val = count,
		};
		if (!letter || *letter++ == ' ')
			continue;
		*letters++ = letter[-1];
		if (kind == required_argument)
			*letters++ = ':';
	}
	options[count] = (struct option){.name = "help", .val = OPTION_HELP};
	options[count + 1] = (struct option){.name = "version", .val = OPTION_VERSION};
	options[count + 2] = (struct option){0};
	strcpy(letters, letter ? letter : "h");
	return count;
}

/* Returns what getopt_long() returns for the long option with this letter. */
static int option_of_letter(const struct command *command, int letter, int count)
{
	int index = command->letters ? (int)(strchr(command->letters, letter) - command->letters) : count;

	return index < count ? index : OPTION_HELP + index - count;
}

/* Prints what getopt_long() refused. `command` begins the text. */
static int refuse(const char *command, int problem, const char *word)
{
	const char *separator = *command ? ": " : "";

	if (problem == ':')
		return command_usage("%s%s%s needs an argument", command, separator, word);
	/* optopt is the letter of an unknown short option, which can be one of several in argv[]. */
	if (optopt > OPTION_VERSION)
		return command_usage("%s%sunknown option '-%c'", command, separator, optopt);
	return command_usage("%s%sunknown option '%s'", command, separator, word);
}

/* Fills args->options. Returns true, or false and the exit code. */
static bool parse_options(const struct command *command, int argc, char **argv, struct command_args *args, int *code)
{
	struct option options[COMMAND_MAX_OPTIONS + 3];
	char letters[LETTERS_MAX];
	int count = fill_options(command, options, letters), option;

	while ((option = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (option == ':' || option == '?') {
			*code = refuse(command->name, option, argv[optind - 1]);
			return false;
		}
		if (option > OPTION_VERSION)
			option = option_of_letter(command, option, count);
		if (option >= OPTION_HELP) {
			*code = option == OPTION_HELP ? command_help(command, program_name) : print_version();
			return false;
		}
		if (optarg && args->options[option]) {
			*code = command_usage("%s%s--%s is given twice", command->name, *command->name ? ": " : "",
				options[option].name);
			return false;
		}
		args->options[option] = optarg ? optarg : "";
	}
	return true;
}

#define ANY_OPERANDS 1000000

/* Returns how many operands the names allow, and how many they require. */
static int count_operands(const char *names, int *required)
{
	const char *separator = names ? strstr(names, "--") : NULL;
	int count = 0;

	*required = 0;
	names = separator ? separator + 2 + strspn(separator + 2, " ") : names;
	for (size_t size; names && *names; names += size + strspn(names + size, " ")) {
		size = *names == '[' ? strcspn(names, "]") + 1 : strcspn(names, " ");
		*required += *names != '[';
		count += size > 3 && memmem(names, size, "...", 3) ? ANY_OPERANDS : 1;
	}
	return count;
}

static bool parse(const struct command *command, int argc, char **argv, struct command_args *args, int *code)
{
	const char *separator = *command->name ? ": " : "";
	char fault[COMMAND_FAULT_MAX];
	int required, most = count_operands(command->operands, &required) + command->hidden_operands;
	bool parsed;

	*args = (struct command_args){0};
	opterr = 0;
	parsed = parse_options(command, argc, argv, args, code);
	opterr = 1; /* DPDK's EAL relies on the messages of getopt */
	if (!parsed)
		return false;
	args->count = argc - optind;
	args->operands = argv + optind;
	if (args->count < required)
		*code = command_usage(
			"%s%smissing operand; the operands are: %s", command->name, separator, command->operands);
	else if (args->count > most)
		*code = command_usage("%s%sunexpected operand '%s'", command->name, separator, args->operands[most]);
	else if (!command_read_values(command->options, args, fault))
		*code = command_usage("%s%s%s", command->name, separator, fault);
	else
		return true;
	return false;
}

static int command_run(const struct command_program *program, const struct command *command, int argc, char **argv)
{
	struct command_args args;
	int code;

	if (!parse(command, argc, argv, &args, &code))
		return code;
	code = program->check ? program->check(&args) : COMMAND_OK;
	return code == COMMAND_OK ? command->run(&args) : code;
}

static int refuse_subcommand(const struct command_program *program, const char *name)
{
	const char *meant = NULL;

	for (size_t i = 0; i < program->count; i++)
		text_guess(name, program->commands[i]->name, &meant);
	if (meant)
		return command_usage("unknown subcommand '%s'; did you mean %s?", name, meant);
	return command_usage("unknown subcommand '%s'", name);
}

static int dispatch(const struct command_program *program, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name)
		return command_usage("a subcommand is missing");
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return command_help_program(program);
	if (strcmp(name, "--version") == 0)
		return print_version();
	if (strcmp(name, COMMAND_COMPLETE) == 0)
		return command_complete_program(program, argc - 2, argv + 2);
	for (size_t i = 0; i < program->count; i++)
		if (strcmp(name, program->commands[i]->name) == 0)
			return command_run(program, program->commands[i], argc - 1, argv + 1);
	return refuse_subcommand(program, name);
}

/* Returns `code`, or COMMAND_FAILED if the output was lost. */
static int flush_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	command_error("cannot write to standard output");
	return code == COMMAND_OK ? COMMAND_FAILED : code;
}

/* A standard descriptor that is closed fails, and is not that of a file which the program opens. */
static void reserve_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* becomes fd */
}

void command_open(const char *program)
{
	program_name = program;
	reserve_descriptors();
	/* A core would have secret keys. RLIMIT_CORE does not stop a core_pattern that is a pipe, see core(5). */
	prctl(PR_SET_DUMPABLE, 0);
}

int command_main(const struct command_program *program, int argc, char **argv)
{
	command_open(program->name);
	has_subcommands = true;
	return flush_output(dispatch(program, argc, argv));
}

bool command_parse(const struct command *command, int argc, char **argv, struct command_args *args, int *code)
{
	if (argc > 1 && strcmp(argv[1], COMMAND_COMPLETE) == 0)
		*code = command_complete(command, NULL, argc - 2, argv + 2);
	else if (parse(command, argc, argv, args, code))
		return true;
	*code = flush_output(*code);
	return false;
}
