/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a packet costs in the director, in TSC cycles. All paths take turns on the same frames, a
 * pass each of some 10 to 1000 us, so that what disturbs the machine disturbs them alike.
 */
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>

#include "baselines.h"
#include "builds.h"
#include "line.h"
#include "report.h"
#include "subject.h"

#define PORT         (RTE_MAX_ETHPORTS - 1)
#define MAX_PATHS    8
#define MAX_PASSES   4000
#define NOISY_SPREAD 1.25 /* of the median to p10 of io */

enum set { SET_L2, SET_L3, SET_DRAM };

static const char *const set_names[] = {"l2", "l3", "dram"};
static const char *const family_names[] = {"v4", "v6", "mixed", "odd", "worst"};

static const uint32_t set_frames[] = {1024, 32768, 32768};

struct scenario {
	const char *what; /* where it is not plain steering */
	enum set set;
	uint16_t burst;
	struct world world;
	uint8_t hash_fields, alt_hash_fields;
	bool quick; /* part of --quick */
};

/* tables, binds, backends, hops, prefixes, family */
static const struct scenario scenarios[] = {
	{"", SET_L2, 64, {1, 16, 64, 2, false, WORLD_V4}, 0, 0, true},
	{"", SET_L2, 32, {1, 16, 64, 2, false, WORLD_V4}, 0, 0, true},
	{"", SET_L3, 64, {1, 16, 64, 2, false, WORLD_V4}, 0, 0, true},
	{"", SET_DRAM, 64, {1, 16, 64, 2, false, WORLD_V4}, 0, 0, true},
	{"", SET_L2, 64, {1, 1, 64, 2, false, WORLD_V4}, 0, 0, false},
	{"", SET_L2, 64, {1, 256, 64, 2, false, WORLD_V4}, 0, 0, false},
	{"", SET_L2, 64, {16, 16, 64, 2, false, WORLD_V4}, 0, 0, false},
	{"", SET_L2, 64, {64, 16, 64, 2, false, WORLD_V4}, 0, 0, true},
	{"", SET_L2, 64, {64, 256, 64, 2, false, WORLD_V4}, 0, 0, false},
	{"", SET_L2, 64, {1, 16, 64, 2, false, WORLD_V6}, 0, 0, true},
	{"", SET_L2, 64, {64, 16, 64, 2, false, WORLD_V6}, 0, 0, false},
	{"", SET_L2, 64, {1, 16, 64, 2, false, WORLD_MIXED}, 0, 0, true},
	{"", SET_L2, 64, {1, 16, 64, 2, false, WORLD_ODD}, 0, 0, true},
	{"", SET_L2, 64, {1, 16, 64, 2, false, WORLD_WORST}, 0, 0, true},
	{"prefixes", SET_L2, 64, {1, 16, 64, 2, true, WORLD_V4}, 0, 0, true},
	{"4 hops", SET_L2, 64, {1, 16, 64, 4, false, WORLD_V4}, 0, 0, true},
	{"4-tuple", SET_L2, 64, {1, 16, 64, 2, false, WORLD_V4}, 15, 0, true},
	{"alt hash", SET_L2, 64, {1, 16, 64, 2, false, WORLD_V4}, 0, 5, true},
};

#define SCENARIOS (sizeof(scenarios) / sizeof(*scenarios))

static struct line line;
static struct subject subject;

struct contender {
	const char *name;
	void (*baseline)(uint16_t port, const bool *stop); /* NULL: the director */
	lanes_fn *fast;
};

static struct contender contenders[MAX_PATHS] = {
	{"io", baseline_io, NULL},
	{"macswap", baseline_macswap, NULL},
	{"floor", baseline_floor, NULL},
};
static unsigned contender_count = 3;
static const char *wanted_path; /* NULL: all */

/* The director without its fast path, with the portable one ("scalar"), and with each that this CPU
 * has. */
static void list_paths(void)
{
	struct lanes_path paths[LANES_MAX_PATHS];
	unsigned count = lanes_paths(paths);

	while (count-- > 0)
		if (paths[count].usable)
			contenders[contender_count++] = (struct contender){
				strcmp(paths[count].name, "plain") ? paths[count].name : "scalar",
				NULL, paths[count].forward};
	contenders[contender_count++] = (struct contender){"stages", NULL, NULL};
}

/* Cycles per packet. */
static double pass(const struct scenario *scenario, const struct contender *contender)
{
	line_refill(&line, &scenario->world, scenario->set == SET_DRAM);
	subject.director.stop = false;
	subject.worker->pipeline.fast = contender->fast;
	if (contender->baseline)
		contender->baseline(PORT, &subject.director.stop);
	else
		subject_run(&subject);
	if (line.sent != line.count) {
		fprintf(stderr, "%s: %u frames in, %" PRIu64 " out\n", contender->name, line.count,
			line.sent);
		exit(EXIT_FAILURE);
	}
	return (double)(line.end - line.begin) / line.count;
}

/* All paths that steer must leave the same bytes. */
static void verify(const struct scenario *scenario)
{
	uint64_t expected = 0;

	for (unsigned c = 0; c < contender_count; c++) {
		uint64_t digest;

		if (contenders[c].baseline)
			continue;
		line.numbers = 0;
		pass(scenario, &contenders[c]);
		digest = line_digest(&line);
		if (!expected)
			expected = digest;
		if (digest != expected) {
			fprintf(stderr, "%s: not the same bytes as %s\n", contenders[c].name,
				contenders[3].name);
			exit(EXIT_FAILURE);
		}
	}
}

static void report(
	const struct scenario *scenario, double samples[MAX_PATHS][MAX_PASSES], unsigned passes)
{
	struct report_line lines[MAX_PATHS];

	for (unsigned c = 0; c < contender_count; c++)
		lines[c] = (struct report_line){
			.path = contenders[c].name,
			.what = scenario->what,
			.set = set_names[scenario->set],
			.family = family_names[scenario->world.family],
			.tables = scenario->world.tables,
			.binds = scenario->world.binds,
			.hops = scenario->world.hops,
			.burst = scenario->burst,
			.lcores = 1,
			.p10 = report_percentile(samples[c], passes, 10),
			.median = report_percentile(samples[c], passes, 50),
		};
	for (unsigned c = 0; c < contender_count; c++)
		lines[c].noisy = lines[c].median > NOISY_SPREAD * lines[c].p10;
	report_scenario(lines, contender_count);
}

static void run(const struct scenario *scenario, double seconds)
{
	static double samples[MAX_PATHS][MAX_PASSES];
	struct routes *routes = world_routes(&scenario->world);
	uint64_t end;
	unsigned passes = 0;

	line_open(&line, PORT, set_frames[scenario->set]);
	line.burst = scenario->burst;
	subject_open(&subject, PORT, routes);
	line.stop = &subject.director.stop;
	if (scenario->hash_fields)
		subject.director.conf.rules.hash_fields = scenario->hash_fields;
	subject.director.conf.rules.alt_hash_fields = scenario->alt_hash_fields;
	verify(scenario);
	end = rte_rdtsc() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
	while (passes < MAX_PASSES && (passes < 10 || rte_rdtsc() < end)) {
		for (unsigned c = 0; c < contender_count; c++)
			if (!wanted_path || strcmp(contenders[c].name, wanted_path) == 0)
				samples[c][passes] = pass(scenario, &contenders[c]);
		passes++;
	}
	report(scenario, samples, passes);
	subject_close(&subject);
	line_close(&line);
	routes_free(routes);
}

static void start_dpdk(const char *cpu)
{
	char *arguments[] = {"glb-bench", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
		"--no-shconf", "--iova-mode=va", "--log-level=4", "--force-max-simd-bitwidth=512",
		"-l", (char *)cpu};

	if (rte_eal_init(sizeof(arguments) / sizeof(*arguments), arguments) < 0) {
		fprintf(stderr, "DPDK does not start\n");
		exit(EXIT_FAILURE);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", required_argument, NULL, 'j'},
		{"quick", no_argument, NULL, 'q'},
		{"cpu", required_argument, NULL, 'c'},
		{"only", required_argument, NULL, 'o'},
		{"path", required_argument, NULL, 'p'},
		{NULL, 0, NULL, 0},
	};
	const char *json = NULL, *cpu = "0";
	bool quick = false;
	int only = -1, option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			json = optarg;
			break;
		case 'q':
			quick = true;
			break;
		case 'c':
			cpu = optarg;
			break;
		case 'p': /* for a profiler */
			wanted_path = optarg;
			break;
		case 'o':
			only = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	start_dpdk(cpu);
	list_paths();
	report_open(json);
	for (int i = 0; i < (int)SCENARIOS; i++)
		if ((only < 0 || only == i) && (!quick || scenarios[i].quick))
			run(&scenarios[i], quick ? 0.5 : 5);
	if (only < 0)
		builds_run();
	return report_close() ? EXIT_SUCCESS : EXIT_FAILURE;
}
