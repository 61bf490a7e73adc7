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
	      "Steers packets for virtual IP addresses to proxies, in GUE.\n"
	      "\n"
	      "  -c, --config-file FILE        director.conf: gateway, source address, hash fields ...\n"
	      "  -t, --forwarding-table FILE   binds and backends: built by glb-director-cli, or JSON\n"
	      "  -d, --debug                   also log what only a developer wants to know\n"
	      "  -h, --help                    this text\n"
	      "  -V, --version                 version, and that of DPDK\n"
	      "\n"
	      "EAL options choose lcores, memory and ports: -l 0-3, --no-huge -m 64, -a 0000:03:10.0,\n"
	      "--vdev net_af_packet0,iface=eth1 (all in \"EAL parameters\" of the DPDK guides).\n"
	      "SIGHUP or SIGUSR1 reload the forwarding table, SIGTERM stops. See glb-director(8).\n",
		stdout);
}

static void answer(const char *option)
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

	/* EAL would take --help for itself, and wants hugepages before it says anything. */
	for (int i = 1; i < argc; i++)
		answer(argv[i]);
	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	if (own == argc)
		fail("there is no \"--\" between the EAL options and the director's own");
	argc -= own;
	argv += own;
	argv[0] = (char *)"glb-director"; /* for getopt's messages; it was "--" */
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
		fail("'%s' is not an option", argv[optind]);
	if (!options.config_file || !options.forwarding_table)
		fail("--config-file and --forwarding-table are both needed");
	argv[0] = (char *)"--";
	optind = 1; /* EAL parses its part next */
	return options;
}
