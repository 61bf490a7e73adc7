/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/contest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "bench/baselines.h"
#include "bench/copies.h"
#include "bench/fused.h"
#include "bench/kernel.h"
#include "bench/report.h"
#include "bench/sampler.h"
#include "bench/subject.h"

#define PORT            (RTE_MAX_ETHPORTS - 1)
#define MAX_CONTENDERS  10
#define MAX_PASSES      4000
#define FLOOR_PASSES    12
#define PROFILE_SECONDS 2
#define MAX_ATTEMPTS    4

struct contender {
	const char *name, *what, *how; /* as in struct report_line */
	baseline_fn *baseline; /* NULL: the director */
	lanes_fn *fast; /* the director's fast path; NULL: the general path takes all packets */
	unsigned lcores;
	enum { DROPPED, LIMITED, UNLIMITED } unmatched; /* what happens to unmatched packets */
	enum subject_capture capture;
	int (*run)(void *worker); /* in the place of worker_run(); NULL: none */
	bool distributor; /* the first lcore distributes packets to both */
};

/* The scenario that runs, shared by all lcores. */
static struct {
	const struct scenario *scenario;
	const struct contender *contender;
	struct line line;
	struct frames frames[LINE_QUEUES];
	struct subject subject;
	int tap; /* of the exception path; -1: there is none */
	unsigned arrived; /* atomic: number of lcores that have written their frames */
} stage;

static struct contender contenders[MAX_CONTENDERS];
static unsigned contender_count;

/* ---- passes ---- */

static int run_lcore(void *unused)
{
	unsigned index = (unsigned)rte_lcore_index((int)rte_lcore_id());
	const struct contender *contender = stage.contender;

	(void)unused;
	if (index == 0 || !contender->distributor)
		frames_refill(&stage.frames[index], &stage.line.queues[index], &stage.scenario->world);
	__atomic_fetch_add(&stage.arrived, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&stage.arrived, __ATOMIC_ACQUIRE) < contender->lcores)
		rte_pause();
	if (contender->baseline)
		contender->baseline(PORT, (uint16_t)index, &stage.subject.shared.stop);
	else if (contender->run)
		contender->run(stage.subject.workers[index]);
	else
		worker_run(stage.subject.workers[index]);
	return 0;
}

/* Runs a pass and returns its cycles per packet. The frames that it sent remain until reclaim(). */
static double pass(const struct contender *contender)
{
	uint32_t frames = scenario_frames(stage.scenario);
	bool dropped = stage.scenario->dropped && !contender->baseline;

	frames *= contender->distributor ? 1 : contender->lcores;
	stage.contender = contender;
	stage.arrived = 0;
	line_rewind(&stage.line, dropped ? 0 : stage.scenario->world.half_unmatched ? frames / 2 : frames);
	subject_arrange(&stage.subject, contender->distributor, contender->fast);
	subject_set_exceptions(
		&stage.subject, contender->unmatched == DROPPED ? -1 : stage.tap, contender->unmatched == LIMITED);
	subject_set_capture(&stage.subject, contender->capture);
	if (contender->lcores > 1)
		rte_eal_mp_remote_launch(run_lcore, NULL, SKIP_MAIN);
	run_lcore(NULL);
	rte_eal_mp_wait_lcore();
	/* A flood of packets over the MTU gets the few replies that the limit allows. */
	if (line_sent(&stage.line) != stage.line.expected && !(dropped && stage.scenario->replies)) {
		fprintf(stderr, "%s, %s: sent %u of %u frames, expected %u\n", contender->name, contender->what,
			line_sent(&stage.line), frames, stage.line.expected);
		exit(EXIT_FAILURE);
	}
	return (double)line_cycles(&stage.line) / frames;
}

static void reclaim(void)
{
	if (stage.frames[0].consumed)
		frames_reclaim(&stage.frames[0], &stage.line);
}

static double timed_pass(const struct contender *contender)
{
	double cycles = pass(contender);

	reclaim();
	return cycles;
}

/* ---- contenders ---- */

static void add(struct contender contender)
{
	if (!contender.what && stage.scenario)
		contender.what = stage.scenario->what;
	if (!contender.what)
		contender.what = "";
	contenders[contender_count++] = contender;
}

/* Measures the candidates in this scenario and returns the fastest. */
static struct contender find_fastest(const struct contender *candidates, unsigned count)
{
	unsigned best = 0;
	double least = 0, samples[FLOOR_PASSES];

	for (unsigned i = 0; i < count; i++) {
		struct report_line line;

		for (unsigned p = 0; p < FLOOR_PASSES; p++)
			samples[p] = timed_pass(&candidates[i]);
		report_summarise(&line, samples, FLOOR_PASSES);
		if (i > 0 && line.p10 >= least)
			continue;
		least = line.p10;
		best = i;
	}
	return candidates[best];
}

static struct contender find_floor(void)
{
	struct baseline_floor floors[BASELINE_MAX_FLOORS];
	struct contender candidates[BASELINE_MAX_FLOORS];
	static char how[BASELINE_MAX_FLOORS][80];
	unsigned count = baseline_floors(floors);

	for (unsigned i = 0; i < count; i++) {
		snprintf(how[i], sizeof(how[i]), "%s, %s", floors[i].store, floors[i].prefetch);
		candidates[i] =
			(struct contender){.name = "floor", .how = how[i], .baseline = floors[i].run, .lcores = 1};
	}
	return find_fastest(candidates, count);
}

/* Adds the necessary work alone, if the packets are those that it takes. */
static void add_fused(void)
{
	const struct world *world = &stage.scenario->world;
	struct contender candidates[FUSED_COUNT];

	if (stage.scenario->what || world->family != WORLD_V4 || world->tables > 1)
		return;
	if (!isa_usable(ISA_AVX512)) {
		printf("this CPU has no AVX-512, so the necessary work alone (fused) is left out\n");
		return;
	}
	for (unsigned i = 0; i < FUSED_COUNT; i++)
		candidates[i] =
			(struct contender){.name = "fused", .how = fused[i].prefetch, .run = fused[i].run, .lcores = 1};
	add(find_fastest(candidates, FUSED_COUNT));
}

/*
 * Adds the director on the best ISA, or with `all` on all ISAs and without fast path. In the figures
 * "scalar" is the fast path in plain C, and "stages" the director without fast path.
 */
static void add_director(unsigned lcores, bool all)
{
	for (enum isa isa = ISA_COUNT; isa-- > 0;) {
		if (!isa_usable(isa))
			continue;
		add((struct contender){.name = isa_name(isa), .fast = lanes_by_isa[isa], .lcores = lcores});
		if (!all)
			return;
	}
	add((struct contender){.name = "stages", .lcores = lcores});
}

/* The best ISA without exception path, with its limits, and without them. */
static void add_exceptions(void)
{
	static const char *const what[] = {
		[DROPPED] = "half unmatched, dropped",
		[LIMITED] = "half unmatched, exception path",
		[UNLIMITED] = "half unmatched, exception path without limits",
	};

	stage.tap = kernel_open_tap();
	if (stage.tap < 0)
		printf("no permission for a TAP interface, so the exception path is left out\n");
	for (unsigned unmatched = DROPPED; unmatched <= (stage.tap < 0 ? DROPPED : UNLIMITED); unmatched++) {
		add_director(1, false);
		contenders[contender_count - 1].what = what[unmatched];
		contenders[contender_count - 1].unmatched = unmatched;
	}
}

/* The best ISA without a capture, with one of all packets, and with one whose filter matches no packet. */
static void add_captures(void)
{
	static const char *const what[] = {
		[SUBJECT_NO_CAPTURE] = "no capture",
		[SUBJECT_CAPTURE_OF_ALL] = "capture of all packets",
		[SUBJECT_CAPTURE_OF_NONE] = "capture, no packet matches",
	};

	for (unsigned capture = SUBJECT_NO_CAPTURE; capture <= SUBJECT_CAPTURE_OF_NONE; capture++) {
		add_director(1, false);
		contenders[contender_count - 1].what = what[capture];
		contenders[contender_count - 1].capture = capture;
	}
}

/* Each ISA in the copies of the worker. The last one watches nothing. */
static void add_copies(void)
{
	static const struct contender copies[] = {
		{.what = "watched", .run = worker_run_watched},
		{.what = "unwatched", .run = worker_run_unwatched},
	};

	for (enum isa isa = ISA_COUNT; isa-- > 0;) {
		for (unsigned i = 0; isa_usable(isa) && i < RTE_DIM(copies); i++) {
			struct contender contender = copies[i];

			contender.name = isa_name(isa);
			contender.fast = lanes_by_isa[isa];
			contender.lcores = 1;
			add(contender);
		}
	}
}

static void list_contenders(void)
{
	struct contender floor;

	contender_count = 0;
	if (stage.scenario->exception_path) {
		add_exceptions();
		return;
	}
	if (stage.scenario->captured) {
		add_captures();
		return;
	}
	if (stage.scenario->watched) {
		add_copies();
		return;
	}
	floor = find_floor();
	if (!stage.scenario->two_lcores) {
		add((struct contender){.name = "io", .baseline = baseline_io, .lcores = 1});
		add((struct contender){.name = "macswap", .baseline = baseline_macswap, .lcores = 1});
		add(floor);
		add_director(1, true);
		add_fused();
		return;
	}
	for (unsigned lcores = 1; lcores <= 2; lcores++) {
		add((struct contender){.name = "io", .baseline = baseline_io, .lcores = lcores});
		floor.lcores = lcores;
		add(floor);
		add_director(lcores, false);
	}
	floor = contenders[contender_count - 1];
	floor.what = "software distributor";
	floor.distributor = true;
	add(floor);
}

const char *contest_isas(void)
{
	static char names[128] = "io macswap floor fused";
	static bool listed;
	size_t at = strlen(names);

	if (listed)
		return names;
	listed = true;
	contender_count = 0;
	add_director(1, true);
	for (unsigned c = 0; c < contender_count; c++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, " %s", contenders[c].name);
	return names;
}

/* ---- a scenario ---- */

/* Checks that all contenders that steer send the same bytes. */
static void verify(void)
{
	uint64_t expected = 0;
	bool first = true;

	for (unsigned c = 0; c < contender_count; c++) {
		const struct contender *contender = &contenders[c];
		uint64_t digest;

		if (contender->baseline)
			continue;
		stage.frames[0].numbers = stage.frames[1].numbers = 0;
		pass(contender);
		digest = stage.scenario->dropped ? 0 : frames_digest(&stage.line);
		reclaim();
		expected = first ? digest : expected;
		first = false;
		/* The digest is a sum over frames, and with two receive queues both had the same frames. */
		if (digest != expected * (contender->distributor ? 1 : contender->lcores)) {
			fprintf(stderr, "%s: sent other bytes than the contenders before it\n", contender->name);
			exit(EXIT_FAILURE);
		}
	}
}

static void profile(const struct scenario *scenario, FILE *to)
{
	for (unsigned c = 0; c < contender_count; c++) {
		const struct contender *contender = &contenders[c];
		uint64_t end = rte_rdtsc() + PROFILE_SECONDS * rte_get_tsc_hz();

		if (!contender->fast)
			continue;
		fprintf(to, "{\"path\": \"%s\", \"set\": \"%s\", \"family\": \"%s\", \"tables\": %u}\n", contender->name,
			scenario_set_name(scenario), scenario_family_name(scenario), scenario->world.tables);
		sampler_start(&stage.line.busy);
		while (rte_rdtsc() < end)
			timed_pass(contender);
		sampler_stop(to);
	}
}

/* Returns how many more cycles a contender takes than the one that watches nothing: the median of the differences, pass by pass. */
static double more_than_unwatched(double samples[MAX_CONTENDERS][MAX_PASSES], unsigned c, unsigned passes)
{
	static double differences[MAX_PASSES];
	struct report_line line;
	unsigned base = c;

	if (!stage.scenario->watched)
		return 0;
	while (contenders[base].run != worker_run_unwatched)
		base++;
	for (unsigned p = 0; p < passes; p++)
		differences[p] = samples[c][p] - samples[base][p];
	report_summarise(&line, differences, passes);
	return line.median;
}

/* Returns how far the noisiest figure is from a quiet one: the ratio of its median to its p10. */
static double noise_of(const struct report_line lines[MAX_CONTENDERS])
{
	double most = 0;

	for (unsigned c = 0; c < contender_count; c++)
		if (lines[c].noisy && lines[c].median > most * lines[c].p10)
			most = lines[c].median / lines[c].p10;
	return most;
}

static void summarise(
	double samples[MAX_CONTENDERS][MAX_PASSES], unsigned passes, struct report_line lines[MAX_CONTENDERS])
{
	const struct scenario *scenario = stage.scenario;

	for (unsigned c = 0; c < contender_count; c++) {
		lines[c] = (struct report_line){
			.name = contenders[c].name,
			.what = contenders[c].what,
			.how = contenders[c].how,
			.set = scenario_set_name(scenario),
			.family = scenario_family_name(scenario),
			.tables = scenario->world.tables,
			.binds = scenario->world.binds,
			.hops = scenario->world.hops,
			.backends = scenario->world.backends,
			.burst = stage.line.burst,
			.lcores = contenders[c].lcores,
			.unit = "cycles",
			.more = more_than_unwatched(samples, c, passes),
		};
	}
	for (unsigned c = 0; c < contender_count; c++)
		report_summarise(&lines[c], samples[c], passes);
}

/* Measures all contenders in turns. */
static void measure(double seconds, struct report_line lines[MAX_CONTENDERS])
{
	static double samples[MAX_CONTENDERS][MAX_PASSES];
	uint64_t end = rte_rdtsc() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
	unsigned passes = 0;

	while (passes < MAX_PASSES && (passes < 10 || rte_rdtsc() < end)) {
		for (unsigned i = 0; i < contender_count; i++) {
			unsigned c = passes % 2 ? contender_count - 1 - i : i;

			samples[c][passes] = timed_pass(&contenders[c]);
		}
		passes++;
	}
	summarise(samples, passes, lines);
}

/* Measures until the scenario is quiet or the limits are reached, and reports the quietest attempt. */
static void measure_until_quiet(const struct contest_options *options)
{
	struct report_line best[MAX_CONTENDERS], again[MAX_CONTENDERS];
	unsigned attempts = 1;

	measure(options->seconds, best);
	for (; noise_of(best) > 0 && attempts<MAX_ATTEMPTS && * options->spare> 0; attempts++) {
		uint64_t begin = rte_rdtsc();

		measure(options->seconds, again);
		*options->spare -= (double)(rte_rdtsc() - begin) / (double)rte_get_tsc_hz();
		if (noise_of(again) < noise_of(best))
			memcpy(best, again, sizeof(best));
	}
	for (unsigned c = 0; c < contender_count; c++)
		best[c].attempts = attempts;
	report_scenario(best, contender_count);
}

static void open_stage(const struct scenario *scenario, struct routes *routes)
{
	uint32_t frames = scenario_frames(scenario);
	struct steering_config *steering = &stage.subject.steering;

	stage.scenario = scenario;
	stage.tap = -1;
	line_open(&stage.line, PORT, LINE_QUEUES * frames);
	for (unsigned i = 0; i < LINE_QUEUES; i++) {
		frames_open(&stage.frames[i], i, i == 0 || scenario->two_lcores ? frames : 1, scenario->world.ipv6_hops);
		stage.frames[i].cold = scenario->set == SCENARIO_DRAM;
	}
	stage.frames[0].shape = scenario->shape;
	frames_consume(&stage.frames[0],
		scenario->shape != FRAMES_WHOLE || scenario->dropped || scenario->world.half_unmatched);
	subject_open(&stage.subject, PORT, routes, scenario->next_hops, stage.frames[0].pool);
	stage.line.burst = scenario->burst ? scenario->burst : 64;
	stage.line.stop = &stage.subject.shared.stop;
	if (scenario->hash_fields)
		steering->hash_fields = scenario->hash_fields;
	steering->alt_hash_fields = scenario->alt_hash_fields;
	steering->send_too_big = scenario->replies;
	steering->udp_checksum = scenario->udp_checksum;
	if (scenario->other_hosts)
		subject_take_other_mac(&stage.subject);
	if (scenario->replies && scenario->dropped)
		subject_limit_replies(&stage.subject);
	if (scenario->mtu)
		steering->outbound_mtu = scenario->mtu;
}

static void close_stage(void)
{
	if (stage.tap >= 0)
		close(stage.tap);
	subject_close(&stage.subject);
	for (unsigned i = 0; i < LINE_QUEUES; i++)
		frames_close(&stage.frames[i]);
	line_close(&stage.line);
}

static void keep_only(const char *name)
{
	unsigned kept = 0;

	for (unsigned c = 0; c < contender_count; c++)
		if (strcmp(contenders[c].name, name) == 0)
			contenders[kept++] = contenders[c];
	contender_count = kept;
}

void contest_run(const struct scenario *scenario, const struct contest_options *options)
{
	struct routes *routes = world_routes(&scenario->world);

	open_stage(scenario, routes);
	list_contenders();
	verify();
	if (options->isa)
		keep_only(options->isa);
	if (contender_count)
		measure_until_quiet(options);
	if (options->samples && scenario->profiled)
		profile(scenario, options->samples);
	close_stage();
	routes_free(routes);
}
