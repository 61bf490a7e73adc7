/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/builds.h"

#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "bench/baselines.h"
#include "bench/report.h"
#include "bench/world.h"
#include "table/classify.h"
#include "packet/classifier/portmap.h"
#include "table/file/table_file.h"
#include "table/rows/table_build.h"
#include "table/rows/table_rows_isa.h"

enum { MAX_BUILDS = 40, MIN_BUILDS = 7, QUICK_BUILDS = 3 };

#define HASHED_BACKENDS 256 /* the size for which hashing is measured alone, too */
#define MEASURE_SECONDS 0.5 /* per figure, but at least MIN_BUILDS builds */

static uint64_t end; /* TSC; nothing is measured after it */

/* A function to measure. */
struct build {
	const char *name, *what;
	unsigned lcores;
	void (*run)(void *context);
	void *context;
};

static double milliseconds(uint64_t cycles)
{
	return 1e3 * (double)cycles / (double)rte_get_tsc_hz();
}

static void measure(const struct build *build, const struct world *world, bool quick)
{
	struct report_line line = {
		.name = build->name,
		.what = build->what,
		.set = "",
		.family = "",
		.tables = world->tables,
		.binds = world->binds,
		.hops = world->hops,
		.backends = world->backends,
		.lcores = build->lcores,
		.unit = "ms",
	};
	double samples[MAX_BUILDS], total = 0;
	unsigned count = 0, least = quick ? QUICK_BUILDS : MIN_BUILDS;

	if (rte_rdtsc() > end) {
		report_left_out();
		return;
	}
	while ((count < least && (count == 0 || rte_rdtsc() < end)) ||
		(!quick && count < MAX_BUILDS && total < 1e3 * MEASURE_SECONDS)) {
		uint64_t begin = rte_rdtsc_precise();

		build->run(build->context);
		samples[count] = milliseconds(rte_rdtsc_precise() - begin);
		total += samples[count++];
	}
	report_summarise(&line, samples, count);
	report_figure(&line);
}

/* ---- in this process ---- */

static void build_rows(void *context)
{
	table_build(context, 1);
}

static void measure_rows(const struct world *world, bool quick)
{
	struct table_set set;

	if (!world_tables(world, &set)) {
		fprintf(stderr, "out of memory for %u tables\n", world->tables);
		exit(EXIT_FAILURE);
	}
	measure(&(struct build){"table_build", "", 1, build_rows, &set}, world, quick);
	table_set_free(&set);
}

static void hash_only(void *context)
{
	static floor_hashing_fn *const run[ISA_COUNT] = ISA_VARIANTS(floor_hashing);
	const struct world *world = context;
	static volatile uint64_t sum;

	sum = run[table_rows_isa()](TABLE_ROWS, world->backends);
	(void)sum;
}

/* Measures what hashing alone takes of a build of rows. */
static void measure_hashing(struct world *world, bool quick)
{
	measure(&(struct build){"hashing", "", 1, hash_only, world}, world, quick);
}

static void build_classifier(void *context)
{
	struct classifier *classifier = classify_build(context);
	struct portmap *portmap = classifier ? portmap_build(classifier, &portmap_limits) : NULL;

	portmap_free(portmap);
	classify_free(classifier);
}

static void measure_classifier(bool quick)
{
	struct world world = {.tables = 64, .binds = 256, .backends = 2, .hops = 2};
	struct routes *routes = world_routes(&world);
	struct report_line line = {.name = "classifier",
		.what = "memory",
		.set = "",
		.family = "",
		.tables = world.tables,
		.binds = world.binds,
		.lcores = 1,
		.unit = "bytes",
		.p10 = (double)routes_classifier_memory(routes)};

	measure(&(struct build){"classifier", "time", 1, build_classifier, &routes->set}, &world, quick);
	line.median = line.p10;
	report_figure(&line);
	routes_free(routes);
}

/* A binary file in memory. */
struct image {
	uint8_t *bytes;
	size_t size;
};

static void read_image(void *context)
{
	const struct image *image = context;
	struct faults faults = {0};
	struct table_set set;

	if (table_file_parse(image->bytes, image->size, &set, NULL, &faults)) {
		fprintf(stderr, "cannot read a binary table: %s\n", faults_first_error(&faults));
		exit(EXIT_FAILURE);
	}
	table_set_free(&set);
	faults_clear(&faults);
}

static void load_image(void *context)
{
	const struct image *image = context;
	struct faults faults = {0};
	struct table_set set;
	struct routes *routes = NULL;

	if (table_file_parse(image->bytes, image->size, &set, NULL, &faults) == 0)
		routes = routes_create(&set, &faults);
	if (!routes) {
		fprintf(stderr, "cannot load a binary table: %s\n", faults_first_error(&faults));
		exit(EXIT_FAILURE);
	}
	routes_free(routes);
	faults_clear(&faults);
}

/* Returns a size from /proc/self/status in bytes. */
static double process_memory(const char *key)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	double size = 0;

	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, key, strlen(key)) == 0)
			size = 1024 * strtod(line + strlen(key), NULL);
	if (status)
		fclose(status);
	return size;
}

/* Resets VmHWM, the most resident memory of this process, to what is resident now. */
static void forget_peak(void)
{
	FILE *refs = fopen("/proc/self/clear_refs", "we");

	malloc_trim(0);
	if (!refs || fputs("5", refs) < 0 || fclose(refs)) {
		fprintf(stderr, "/proc/self/clear_refs: %s\n", strerror(errno));
		exit(EXIT_FAILURE);
	}
}

/* Reports the resident memory that the process needs for one run at most, on top of the file. */
static void report_peak(const struct build *build, struct report_line line)
{
	double before;

	forget_peak();
	before = process_memory("VmRSS:");
	build->run(build->context);
	line.what = build->what;
	line.p10 = line.median = process_memory("VmHWM:") - before;
	report_figure(&line);
}

/* Makes all tables have the backends and the seed of the first one. */
static void make_same(struct table_set *set)
{
	const struct table *first = &set->tables[0];

	for (uint32_t t = 1; t < set->count; t++) {
		memcpy(set->tables[t].seed, first->seed, sizeof(first->seed));
		memcpy(set->tables[t].backends, first->backends, first->backend_count * sizeof(*first->backends));
	}
}

/* Measures how a file of many tables is read and checked, and made ready for packets. same: the tables share their rows. */
static void measure_reading(bool same, bool quick)
{
	struct world world = {.tables = 1024, .binds = 1, .backends = 64, .hops = 2};
	struct report_line line = {.name = same ? "read_shared" : "read_different",
		.what = "file",
		.set = "",
		.family = "",
		.tables = world.tables,
		.binds = world.binds,
		.backends = world.backends,
		.hops = world.hops,
		.lcores = 1,
		.unit = "bytes"};
	struct faults faults = {0};
	struct table_set set;
	struct image image;

	if (rte_rdtsc() > end) {
		report_left_out();
		return;
	}
	if (!world_tables(&world, &set)) {
		fprintf(stderr, "out of memory for %u tables\n", world.tables);
		exit(EXIT_FAILURE);
	}
	if (same)
		make_same(&set);
	if (table_build(&set, 1) || table_file_encode(&set, TABLE_FILE_V3, &image.bytes, &image.size, &faults)) {
		fprintf(stderr, "cannot make a file of %u tables\n", world.tables);
		exit(EXIT_FAILURE);
	}
	table_set_free(&set);
	line.p10 = line.median = (double)image.size;
	report_figure(&line);
	report_peak(&(struct build){line.name, "peak RSS, read and checked", 1, read_image, &image}, line);
	report_peak(&(struct build){line.name, "peak RSS, ready for packets", 1, load_image, &image}, line);
	measure(&(struct build){line.name, "read and checked", 1, read_image, &image}, &world, quick);
	measure(&(struct build){line.name, "ready for packets", 1, load_image, &image}, &world, quick);
	free(image.bytes);
}

/* ---- the whole command ---- */

struct command {
	const char *cli;
	char source[64], result[64];
	const int *cpus;
	unsigned threads;
};

static void write_table(FILE *file, const struct table *table, unsigned index)
{
	fprintf(file, "%s{\"name\": \"t%u\", \"hash_key\": \"%032x\", \"seed\": \"%032x\", \"binds\": [",
		index ? ",\n" : "", index, index + 1, index + 2);
	for (uint32_t i = 0; i < table->bind_count; i++) {
		char text[NETADDR_TEXT_MAX];

		fprintf(file, "%s{\"ip\": \"%s\", \"proto\": \"tcp\", \"port\": %u}", i ? ", " : "",
			netaddr_format(&table->binds[i].prefix.addr, text), table->binds[i].port_start);
	}
	fputs("], \"backends\": [", file);
	for (uint32_t i = 0; i < table->backend_count; i++) {
		char text[NETADDR_TEXT_MAX];

		fprintf(file, "%s{\"ip\": \"%s\", \"state\": \"active\"}", i ? ", " : "",
			netaddr_format(&table->backends[i].addr, text));
	}
	fputs("]}", file);
}

static void write_source(const char *path, const struct world *world)
{
	struct table_set set;
	bool made = world_tables(world, &set);
	FILE *file = made ? fopen(path, "we") : NULL;

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
	fputs("{\"tables\": [\n", file);
	for (uint32_t i = 0; i < set.count; i++)
		write_table(file, &set.tables[i], i);
	fputs("\n]}\n", file);
	fclose(file);
	table_set_free(&set);
}

static void run_command(void *context)
{
	const struct command *command = context;
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		for (unsigned i = 0; i < command->threads; i++)
			CPU_SET((unsigned)command->cpus[i], &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
		execl(command->cli, command->cli, "build-config", command->source, command->result, (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "%s build-config failed with status %d: is the program built?\n", command->cli, status);
		exit(EXIT_FAILURE);
	}
}

static void measure_command(struct command *command, const struct world *world, const int cpus[2], bool quick)
{
	write_source(command->source, world);
	command->cpus = cpus;
	for (unsigned threads = 1; threads <= (cpus[1] < 0 ? 1u : 2u); threads++) {
		command->threads = threads;
		measure(&(struct build){"build_config", "", threads, run_command, command}, world, quick);
	}
	unlink(command->source);
	unlink(command->result);
}

void builds_run(const char *cli, const int cpus[2], bool quick, uint64_t time_limit)
{
	struct world world = {.tables = 1, .binds = 16, .hops = 2};
	struct world many = {.tables = 64, .binds = 16, .backends = 64, .hops = 2};
	char folder[] = "/tmp/glb-bench-XXXXXX";
	struct command command = {.cli = cli};

	if (!mkdtemp(folder)) {
		fprintf(stderr, "%s: %s\n", folder, strerror(errno));
		exit(EXIT_FAILURE);
	}
	snprintf(command.source, sizeof(command.source), "%s/tables.json", folder);
	snprintf(command.result, sizeof(command.result), "%s/tables.bin", folder);
	end = time_limit;
	printf("\n");
	for (world.backends = 2; world.backends <= 4096; world.backends *= quick ? 8 : 2) {
		measure_rows(&world, quick);
		if (world.backends == HASHED_BACKENDS)
			measure_hashing(&world, quick);
		measure_command(&command, &world, cpus, quick);
	}
	measure_rows(&many, quick);
	measure_command(&command, &many, cpus, quick);
	measure_classifier(quick);
	measure_reading(true, quick);
	measure_reading(false, quick);
	rmdir(folder);
}
