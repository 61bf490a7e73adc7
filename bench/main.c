/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the TSC cycles that the director needs for a packet, and how long it takes to build tables. */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>

#include "bench/builds.h"
#include "bench/contest.h"
#include "bench/report.h"
#include "common/text.h"

/* How long the benchmark takes. */
struct pace {
	double seconds; /* to measure a scenario */
	double spare; /* for scenarios that were noisy */
	double late; /* after so many seconds no scenario is measured again, and each takes less time */
	double seconds_late;
	double end; /* after so many seconds no tables are built */
};

static uint64_t begin; /* TSC */

static const struct pace full = {.seconds = 3, .spare = 30, .late = 180, .seconds_late = 1, .end = 270};
static const struct pace quick = {.seconds = 0.4, .spare = 8, .late = 35, .seconds_late = 0.1, .end = 52};

struct options {
	const char *json, *samples, *isa, *cli;
	int cpus[2]; /* the second is -1 if there is only one */
	int only; /* index of the only scenario to run; -1: all */
	bool quick;
};

static void usage(void)
{
	fputs("usage: glb-bench --cli GLB_DIRECTOR_CLI [--quick] [--json FILE] [--samples FILE] [--cpu N] [--only N] [--isa NAME]\n",
		stderr);
	exit(2);
}

/* Chooses the first two CPUs that the process may run on, or the wanted one (-1: none) and another. */
static void choose_cpus(struct options *options, int wanted)
{
	cpu_set_t allowed;
	int count = 0;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	options->cpus[0] = options->cpus[1] = -1;
	if (wanted >= 0) {
		if (!CPU_ISSET((unsigned)wanted, &allowed)) {
			fprintf(stderr, "--cpu: this process may not run on CPU %d\n", wanted);
			exit(2);
		}
		options->cpus[count++] = wanted;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
		if (CPU_ISSET((unsigned)cpu, &allowed) && cpu != wanted)
			options->cpus[count++] = cpu;
}

static int parse_number(const char *option, const char *text, uint32_t most)
{
	uint32_t value;

	if (text_number(text, 0, most, &value))
		return (int)value;
	fprintf(stderr, "--%s: '%s' is not a number from 0 to %u\n", option, text, most);
	exit(2);
}

static const char *parse_isa(const char *text)
{
	const char *names = contest_isas();
	const char *at = strstr(names, text);
	size_t size = strlen(text);

	if (size && at && (at == names || at[-1] == ' ') && (at[size] == ' ' || !at[size]))
		return text;
	fprintf(stderr, "--isa: '%s' is not one of: %s\n", text, names);
	exit(2);
}

static struct options parse(int argc, char **argv)
{
	static const struct option known[] = {
		{"cli", required_argument, NULL, 'l'},
		{"cpu", required_argument, NULL, 'c'},
		{"isa", required_argument, NULL, 'i'},
		{"json", required_argument, NULL, 'j'},
		{"only", required_argument, NULL, 'o'},
		{"quick", no_argument, NULL, 'q'},
		{"samples", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	struct options options = {.only = -1};
	int option, cpu = -1;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'l':
			options.cli = optarg;
			break;
		case 'c':
			cpu = parse_number("cpu", optarg, CPU_SETSIZE - 1);
			break;
		case 'i': /* for use with a profiler */
			options.isa = parse_isa(optarg);
			break;
		case 'j':
			options.json = optarg;
			break;
		case 'o':
			options.only = parse_number("only", optarg, scenario_count - 1);
			break;
		case 'q':
			options.quick = true;
			break;
		case 's':
			options.samples = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind != argc || !options.cli)
		usage();
	choose_cpus(&options, cpu);
	return options;
}

static void start_dpdk(const int cpus[2])
{
	char list[32];
	char *arguments[] = {"glb-bench", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--no-shconf",
		"--iova-mode=va", "--log-level=4", "--force-max-simd-bitwidth=512", "-l", list, "--main-lcore", NULL};
	char first[16];

	snprintf(list, sizeof(list), cpus[1] < 0 ? "%d" : "%d,%d", cpus[0], cpus[1]);
	snprintf(first, sizeof(first), "%d", cpus[0]);
	arguments[sizeof(arguments) / sizeof(*arguments) - 1] = first;
	if (rte_eal_init(sizeof(arguments) / sizeof(*arguments), arguments) < 0) {
		fprintf(stderr, "cannot initialize DPDK\n");
		exit(EXIT_FAILURE);
	}
}

static bool is_wanted(const struct options *options, int index)
{
	const struct scenario *scenario = &scenarios[index];

	if (scenario->two_lcores && options->cpus[1] < 0)
		return false;
	if (options->only >= 0)
		return options->only == index;
	return !options->quick || !scenario->slow;
}

/* Returns the time some seconds after the start. */
static uint64_t after(double seconds)
{
	return begin + (uint64_t)(seconds * (double)rte_get_tsc_hz());
}

static FILE *open_samples(const char *path)
{
	FILE *file = path ? fopen(path, "we") : NULL;

	if (path && !file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
	return file;
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	const struct pace *pace = options.quick ? &quick : &full;
	double spare = pace->spare;
	struct contest_options contest = {
		.seconds = pace->seconds,
		.spare = &spare,
		.isa = options.isa,
		.samples = open_samples(options.samples),
	};
	start_dpdk(options.cpus);
	begin = rte_rdtsc();
	report_machine();
	report_open(options.json);
	if (options.cpus[1] < 0)
		printf("this process may run on one CPU only, so scenarios with two lcores are left out\n");
	for (int i = 0; i < (int)scenario_count; i++) {
		if (rte_rdtsc() > after(pace->late)) {
			spare = 0;
			contest.seconds = pace->seconds_late;
		}
		if (is_wanted(&options, i))
			contest_run(&scenarios[i], &contest);
	}
	if (options.only < 0)
		builds_run(options.cli, options.cpus, options.quick, after(pace->end));
	if (contest.samples)
		fclose(contest.samples);
	return report_close() ? EXIT_SUCCESS : EXIT_FAILURE;
}
