/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_version.h>

#define EXIT_USAGE 2

static const char usage[] = "usage: glb-director [EAL options] -- --config-file FILE --forwarding-table FILE [--debug]\n";

static void help(void)
{
	fputs(usage, stdout);
	fputs("\n"
	      "Forwards packets for virtual IP addresses to proxies, encapsulated in GUE.\n"
	      "\n"
	      "  -c, --config-file FILE        director.conf: gateway, source address, hash fields ...\n"
	      "  -t, --forwarding-table FILE   binds and backends: a table built by glb-director-cli, or its JSON source\n"
	      "  -d, --debug                   also log messages for developers\n"
	      "  -h, --help                    print this help and exit\n"
	      "  -V, --version                 print the versions of glb-director and DPDK and exit\n"
	      "\n"
	      "The EAL options choose lcores, memory and ports, for example -l 0-3, --no-huge -m 64,\n"
	      "-a 0000:03:10.0, --vdev net_af_packet0,iface=eth1. The DPDK guides list all of them\n"
	      "under \"EAL parameters\".\n"
	      "SIGHUP and SIGUSR1 reload the forwarding table. SIGTERM and SIGINT stop the director.\n"
	      "See glb-director(8).\n",
		stdout);
}

/* Prints the help or the version and exits, if the option asks for one. */
static void print_and_exit(const char *option)
{
	if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
		help();
		exit(EXIT_SUCCESS);
	}
	if (strcmp(option, "--version") == 0 || strcmp(option, "-V") == 0) {
		printf("glb-director %s (%s)\n", GLB_VERSION, rte_version());
		exit(EXIT_SUCCESS);
	}
}

static _Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void fail(const char *format, ...)
{
	va_list args;

	fputs("glb-director: error: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n%s", usage);
	exit(EXIT_USAGE);
}

struct options options_parse(int argc, char **argv)
{
	static const struct option known[] = {
		{"config-file", required_argument, NULL, 'c'},
		{"forwarding-table", required_argument, NULL, 't'},
		{"debug", no_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	struct options options = {0};
	int own = 1, option;

	/* Before EAL sees the arguments: it has a --help itself, and it needs hugepages to get that far. */
	for (int i = 1; i < argc; i++)
		print_and_exit(argv[i]);
	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	if (own == argc)
		fail("write \"--\" between the EAL options and the director's own");
	argc -= own;
	argv += own;
	argv[0] = (char *)"glb-director"; /* it was "--"; getopt's messages begin with it */
	while ((option = getopt_long(argc, argv, "+c:t:dhV", known, NULL)) != -1) {
		switch (option) {
		case 'c':
			options.config_file = optarg;
			break;
		case 't':
			options.forwarding_table = optarg;
			break;
		case 'd':
			options.debug = true;
			break;
		default:
			fputs(usage, stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind < argc)
		fail("unexpected argument '%s'", argv[optind]);
	if (!options.config_file || !options.forwarding_table)
		fail("--config-file and --forwarding-table are both needed");
	argv[0] = (char *)"--";
	optind = 1; /* because EAL parses its options with getopt, too */
	return options;
}
