/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-director-cli: everything about forwarding tables and captures that needs no running director.
 */
#include <getopt.h>
#include <string.h>

#include "cli.h"

static const struct cli_command *const commands[] = {
	&build_config_command,
	&check_command,
	&show_command,
	&lookup_command,
	&diff_command,
	&replay_command,
	&decode_command,
	&reload_command,
	&stats_command,
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static int print_help(void)
{
	puts("usage: " CLI_NAME " SUBCOMMAND [OPERANDS] [OPTIONS]\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-13s %s\n", commands[i]->name, commands[i]->summary);
	puts("\n" CLI_NAME " SUBCOMMAND --help describes each; --version prints the version.\n"
	     "Tables are read as JSON or binary, whichever the file is.");
	return CLI_OK;
}

static int print_command_help(const struct cli_command *command)
{
	const struct cli_option *option;

	printf("usage: " CLI_NAME " %s %s [OPTIONS]\n\n%s.\n\n", command->name, command->operands,
		command->summary);
	for (option = command->options; option->name; option++) {
		char left[64];

		snprintf(left, sizeof(left), "--%s%s%s", option->name, option->argument ? " " : "",
			option->argument ? option->argument : "");
		printf("  %-22s %s\n", left, option->help);
	}
	puts("  --help                 print this\n"
	     "  --version              print the version");
	return CLI_OK;
}

static int print_version(void)
{
	puts(CLI_NAME " " GLB_VERSION);
	return CLI_OK;
}

/* The completion script asks for words: of a subcommand, or the subcommands themselves. */
static int print_words(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		const struct cli_option *option = commands[i]->options;

		if (!name)
			puts(commands[i]->name);
		else if (strcmp(commands[i]->name, name) == 0)
			for (; option->name; option++)
				printf("--%s\n", option->name);
	}
	if (name)
		puts("--help\n--version");
	return CLI_OK;
}

enum {
	OPTION_HELP = CLI_MAX_OPTIONS,
	OPTION_VERSION,
};

static void fill_options(const struct cli_command *command, struct option *options)
{
	int count = 0;

	for (; command->options[count].name; count++)
		options[count] = (struct option){
			.name = command->options[count].name,
			.has_arg =
				command->options[count].argument ? required_argument : no_argument,
			.val = count,
		};
	options[count++] = (struct option){.name = "help", .val = OPTION_HELP};
	options[count++] = (struct option){.name = "version", .val = OPTION_VERSION};
	options[count] = (struct option){0};
}

static int run(const struct cli_command *command, int argc, char **argv)
{
	struct option options[CLI_MAX_OPTIONS + 3];
	struct cli_args args = {0};
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
			return cli_usage(
				"%s: %s needs an argument", command->name, argv[optind - 1]);
		case '?':
			return cli_usage(
				"%s: '%s' is not an option of it", command->name, argv[optind - 1]);
		default:
			args.options[option] = optarg ? optarg : "";
		}
	}
	args.count = argc - optind;
	args.operands = argv + optind;
	if (args.count < command->min_operands)
		return cli_usage("%s: operands are missing: %s", command->name, command->operands);
	if (args.count > command->max_operands)
		return cli_usage("%s: '%s' is one operand too many: %s", command->name,
			args.operands[command->max_operands], command->operands);
	return command->run(&args);
}

static int dispatch(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name)
		return cli_usage("a subcommand is missing");
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return print_help();
	if (strcmp(name, "--version") == 0)
		return print_version();
	if (strcmp(name, "--words") == 0)
		return print_words(argv[2]);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(name, commands[i]->name) == 0)
			return run(commands[i], argc - 1, argv + 1);
	return cli_usage("'%s' is not a subcommand", name);
}

int main(int argc, char **argv)
{
	int code = dispatch(argc, argv);

	if (fflush(stdout) != 0 || ferror(stdout)) {
		cli_error("cannot write to standard output");
		return code == CLI_OK ? CLI_FAILED : code;
	}
	return code;
}
