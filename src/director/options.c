/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_version.h>

#include "program/command.h"
#include "program/installed.h"

enum { CONFIG_FILE, FORWARDING_TABLE, DEBUG };

static const struct command_option known[] = {
	[CONFIG_FILE] = {"config-file", "FILE", "next hop, source address, hash fields ...", INSTALLED_DIRECTOR_CONF},
	[FORWARDING_TABLE] = {"forwarding-table", "FILE", "a built table, or its JSON source", INSTALLED_TABLE},
	[DEBUG] = {"debug", NULL, "also log messages for developers"},
	{0},
};

static const struct command command = {
	.name = "",
	.operands = "[EAL OPTIONS] --",
	.summary = "Forward packets for virtual IP addresses to proxies, encapsulated in GUE",
	.options = known,
	.letters = "ctdhV",
	.note = "The EAL options choose lcores, memory and ports, for example -l 0-3,\n"
		"--no-huge -m 64, -a 0000:03:10.0, --vdev net_af_packet0,iface=eth1.\n"
		"The DPDK guides list all of them under \"EAL parameters\".\n\n"
		"SIGHUP and SIGUSR1 reload the forwarding table. SIGTERM and SIGINT stop\n"
		"the director. See glb-director(8).",
};

/* Parses the words from argv[0] on, which takes the place of the program's name. Exits if it fails. */
static void parse(int argc, char **argv, struct command_args *args)
{
	int code;

	if (!command_parse(&command, argc, argv, args, &code))
		exit(code);
}

/* Prints the help or the version and exits, if the option asks for one. */
static void print_and_exit(char *option)
{
	struct command_args args;

	if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0)
		parse(2, (char *[]){"", "--help", NULL}, &args);
	if (strcmp(option, "--version") == 0 || strcmp(option, "-V") == 0) {
		printf("glb-director %s (%s)\n", GLB_VERSION, rte_version());
		exit(EXIT_SUCCESS);
	}
}

/* Offers the director's own options if the words have "--", else the separator. */
static _Noreturn void complete(int argc, char **argv)
{
	struct command_args args;
	int own = 2;

	while (own < argc - 1 && strcmp(argv[own], "--") != 0)
		own++;
	if (own < argc - 1) {
		argv[own] = argv[1];
		parse(argc - own + 1, argv + own - 1, &args);
	}
	command_offer("--", "then the director's own options");
	command_offer("--help", NULL);
	command_offer("--version", NULL);
	exit(EXIT_SUCCESS);
}

struct options options_parse(int argc, char **argv)
{
	struct command_args args;
	int own = 1;

	command_open("glb-director");
	if (argc > 1 && strcmp(argv[1], COMMAND_COMPLETE) == 0)
		complete(argc, argv);
	/* Before EAL sees the arguments: it has a --help itself, and it needs hugepages to get that far. */
	for (int i = 1; i < argc; i++)
		print_and_exit(argv[i]);
	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	if (own == argc)
		exit(command_usage("write \"--\" between the EAL options and the director's own"));
	parse(argc - own, argv + own, &args);
	optind = 1; /* because EAL parses its options with getopt, too */
	return (struct options){
		.config_file = args.values[CONFIG_FILE],
		.forwarding_table = args.values[FORWARDING_TABLE],
		.debug = args.options[DEBUG],
	};
}
