/* SPDX-License-Identifier: BSD-3-Clause */
#include "builds.h"

#include <rte_cycles.h>

#include "report.h"
#include "table/table_build.h"
#include "world.h"

enum { MAX_BUILDS = 40, CYCLES_WORTH = 1 << 30 };

static double milliseconds(uint64_t cycles)
{
	return 1e3 * (double)cycles / (double)rte_get_tsc_hz();
}

static void run(unsigned backends)
{
	struct world world = {.tables = 1, .binds = 1, .backends = backends, .hops = 2};
	struct routes *routes = world_routes(&world);
	double samples[MAX_BUILDS];
	uint64_t total = 0;
	unsigned count = 0;

	while (count < MAX_BUILDS && (count < 5 || total < CYCLES_WORTH)) {
		uint64_t begin = rte_rdtsc_precise(), cycles;

		table_build(&routes->set);
		cycles = rte_rdtsc_precise() - begin;
		samples[count++] = milliseconds(cycles);
		total += cycles;
	}
	report_build(backends, report_percentile(samples, count, 10),
		report_percentile(samples, count, 50));
	routes_free(routes);
}

void builds_run(void)
{
	run(16);
	run(64);
	run(256);
	run(4096);
}
