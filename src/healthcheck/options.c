/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define EXIT_USAGE 2

static const char usage[] = "usage: glb-healthcheck --config-file FILE [--check-once] [--debug]\n";

static void help(void)
{
	fputs(usage, stdout);
	fputs("\n"
	      "Checks the proxies of a forwarding table, and writes a copy of the table with `healthy` set for each backend.\n"
	      "\n"
	      "  -c, --config-file FILE   the configuration, see glb-healthcheck.conf(5)\n"
	      "  -1, --check-once         run every check once, print the results, and write nothing;\n"
	      "                           exit with 0 if every backend is healthy, else with 1\n"
	      "  -d, --debug              also log messages for developers\n"
	      "  -h, --help               print this help\n"
	      "  -V, --version            print the version\n"
	      "\n"
	      "SIGHUP reads the table again. SIGTERM stops the program. See glb-healthcheck(8).\n",
		stdout);
}

struct options options_parse(int argc, char **argv)
{
	static const struct option known[] = {
		{"config-file", required_argument, NULL, 'c'},
		{"check-once", no_argument, NULL, '1'},
		{"debug", no_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	struct options options = {0};
	int option;

	while ((option = getopt_long(argc, argv, "c:1dhV", known, NULL)) != -1) {
		switch (option) {
		case 'c':
			options.config_file = optarg;
			break;
		case '1':
			options.check_once = true;
			break;
		case 'd':
			options.debug = true;
			break;
		case 'h':
			help();
			exit(EXIT_SUCCESS);
		case 'V':
			puts("glb-healthcheck " GLB_VERSION);
			exit(EXIT_SUCCESS);
		default:
			fputs(usage, stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind == argc && options.config_file)
		return options;
	if (optind < argc)
		fprintf(stderr, "glb-healthcheck: error: unexpected argument '%s'\n%s", argv[optind], usage);
	else
		fprintf(stderr, "glb-healthcheck: error: --config-file is missing\n%s", usage);
	exit(EXIT_USAGE);
}
