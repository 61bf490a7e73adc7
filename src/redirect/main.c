/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-redirect: attaches the second chance to a proxy's interfaces, and tells how it fares. */
#include "loader.h"

#include <getopt.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdarg.h>
#include <string.h>

#include <bpf/libbpf.h>

static const struct loader_command *const commands[] = {
	&attach_command,
	&detach_command,
	&status_command,
	&stats_command,
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_line(const char *prefix, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void print_line(const char *prefix, const char *format, va_list args)
{
	fflush(stdout); /* so that both make sense on one terminal */
	fputs(prefix, stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int loader_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(LOADER_NAME ": ", format, args);
	va_end(args);
	return LOADER_FAILED;
}

int loader_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(LOADER_NAME ": ", format, args);
	va_end(args);
	fputs("Try '" LOADER_NAME " --help', or --help behind a subcommand.\n", stderr);
	return LOADER_USAGE;
}

void loader_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(LOADER_NAME ": note: ", format, args);
	va_end(args);
}

const char *loader_mode_name(uint8_t attached)
{
	return attached == XDP_ATTACHED_SKB ? "generic" : "native";
}

const char *loader_udp_name(uint16_t udp)
{
	return udp == REDIRECT_UDP_CONNECTED ? "connected" : "first-hop";
}

static int print_help(void)
{
	puts("usage: " LOADER_NAME " SUBCOMMAND [INTERFACE] [OPTIONS]\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
	puts("\n" LOADER_NAME " SUBCOMMAND --help describes each; --version prints the version.");
	return LOADER_OK;
}

static int print_command_help(const struct loader_command *command)
{
	printf("usage: " LOADER_NAME " %s %s [OPTIONS]\n\n%s.\n\n", command->name,
		command->operands, command->summary);
	for (const struct loader_option *option = command->options; option->name; option++) {
		char left[64];

		snprintf(left, sizeof(left), "--%s%s%s", option->name, option->argument ? " " : "",
			option->argument ? option->argument : "");
		printf("  %-28s %s\n", left, option->help);
	}
	puts("  --help                       print this");
	return LOADER_OK;
}

static int print_version(void)
{
	puts(LOADER_NAME " " GLB_VERSION);
	return LOADER_OK;
}

enum {
	OPTION_HELP = LOADER_MAX_OPTIONS,
};

static void fill_options(const struct loader_command *command, struct option *options)
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
	options[count] = (struct option){0};
}

static int run(const struct loader_command *command, int argc, char **argv)
{
	struct option options[LOADER_MAX_OPTIONS + 2];
	struct loader_args args = {0};
	int option;

	fill_options(command, options);
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 'h':
		case OPTION_HELP:
			return print_command_help(command);
		case ':':
			return loader_usage(
				"%s: %s needs an argument", command->name, argv[optind - 1]);
		case '?':
			return loader_usage(
				"%s: '%s' is not an option of it", command->name, argv[optind - 1]);
		default:
			args.options[option] = optarg ? optarg : "";
		}
	}
	if (optind < argc)
		args.interface = argv[optind++];
	if (optind < argc)
		return loader_usage(
			"%s: '%s' is one operand too many", command->name, argv[optind]);
	if (command->needs_interface && !args.interface)
		return loader_usage("%s: which interface?", command->name);
	if (args.interface && (!*args.interface || strlen(args.interface) >= IFNAMSIZ ||
				      strpbrk(args.interface, "/: \t\n")))
		return loader_usage("'%s' is not a name for an interface", args.interface);
	return command->run(&args);
}

static int dispatch(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name)
		return loader_usage("a subcommand is missing");
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return print_help();
	if (strcmp(name, "--version") == 0)
		return print_version();
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(name, commands[i]->name) == 0)
			return run(commands[i], argc - 1, argv + 1);
	return loader_usage("'%s' is not a subcommand", name);
}

int main(int argc, char **argv)
{
	int code;

	libbpf_set_print(NULL); /* messages are ours; attach --debug shows libbpf's */
	code = dispatch(argc, argv);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		loader_error("cannot write to standard output");
		return code == LOADER_OK ? LOADER_FAILED : code;
	}
	return code;
}
