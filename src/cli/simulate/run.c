/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/run.h"

#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "cli/progress.h"
#include "cli/shares.h"
#include "cli/simulate/world.h"
#include "common/cpus.h"
#include "table/rows/table_build.h"

#define DRAINED 0.5 /* connections: fewer than this are none */

struct run {
	const struct script *script;
	struct world world;
	struct flows flows;
	struct report *report;
	struct faults *faults;
	uint32_t *firsts; /* first hop of each row in the newest table, as a number of flows.names; owned */
	bool selected[TABLE_MAX_BACKENDS];
};

/* Checks the changes without building a table. */
static bool check(const struct script *script, const struct table *first, bool history, struct faults *faults)
{
	struct world world;
	bool good = true;

	world_create(&world, first, history);
	for (size_t i = 0; good && i < script->count; i++)
		good = world_change(&world, &script->steps[i], 0, faults);
	world_free(&world);
	return good;
}

/* Builds the newest table. The caller frees table->rows. */
static void build(const struct run *run, struct table *table, struct report_step *out)
{
	struct table_set set = {.count = 1, .tables = table};
	struct shares shares;

	*table = run->world.table;
	if (table_build(&set, cpus_usable()) != 0)
		alloc_failed();
	shares_count_rows(&shares, table);
	out->imbalance = shares.imbalance;
	out->row_hops = table->row_hops;
	shares_free(&shares);
	for (uint32_t i = 0; i < table->backend_count; i++)
		out->proxies += table->backends[i].state != TABLE_INACTIVE;
}

/* Counts the rows whose first hop is another one than in the table before. */
static uint32_t count_moved(struct run *run)
{
	const struct holders_table *view = &run->flows.versions[run->flows.version_count - 1]->view;
	uint32_t moved = 0;

	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		uint32_t first = holders_first(view, row);

		moved += first != run->firsts[row];
		run->firsts[row] = first;
	}
	return moved;
}

static void publish(struct run *run, struct report_step *out)
{
	struct table table;

	build(run, &table, out);
	for (uint32_t i = 0; i < table.backend_count; i++)
		flows_set_dead(&run->flows, &table.backends[i].addr, run->world.dead[i]);
	flows_publish(&run->flows, &table);
	out->moved_rows = count_moved(run);
}

/* Returns how long it takes until the proxies have no connections; -1: they still have some after 100 years. */
static int64_t drain_ms(const struct flows *flows, const bool *wanted)
{
	int64_t low = -1, high = 0;

	while (flows_left(flows, wanted, high) >= DRAINED) {
		low = high;
		high = high ? 2 * high : 1000;
		if (high > LENGTHS_MAX_MS)
			return -1;
	}
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (flows_left(flows, wanted, middle) >= DRAINED)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static bool wait_for(struct run *run, const struct script_step *step, const bool *wanted)
{
	int64_t ms;

	if (flows_has_new(&run->flows, wanted)) {
		script_error(run->faults, step->line,
			"%s: a proxy still gets new connections, so it never has none: drain it first", step->text);
		return false;
	}
	ms = drain_ms(&run->flows, wanted);
	if (ms < 0) {
		script_error(run->faults, step->line, "%s: %.0f connections are left after 100 years", step->text,
			flows_left(&run->flows, wanted, LENGTHS_MAX_MS));
		return false;
	}
	flows_wait(&run->flows, ms);
	return true;
}

static bool wait_drained(struct run *run, const struct script_step *step)
{
	bool *wanted, done;

	flows_wait(&run->flows, flows_late_ms(&run->flows));
	if (!world_select(&run->world, step, run->selected, run->faults))
		return false;
	wanted = alloc_zeroed(run->flows.names.proxy_count, sizeof(*wanted));
	for (uint32_t i = 0; i < run->world.table.backend_count; i++)
		if (run->selected[i])
			wanted[holders_number(&run->flows.names, &run->world.table.backends[i].addr)] = true;
	done = wait_for(run, step, wanted);
	free(wanted);
	return done;
}

static bool do_step(struct run *run, const struct script_step *step, struct report_step *out)
{
	if (step->verb == SCRIPT_WAIT_DRAINED)
		return wait_drained(run, step);
	if (step->verb == SCRIPT_WAIT) {
		flows_wait(&run->flows, step->wait_ms);
		return true;
	}
	out->proxies = 0;
	if (!world_change(&run->world, step, run->flows.now_ms, run->faults))
		return false;
	publish(run, out);
	return true;
}

static void note(struct run *run, struct report_step *out)
{
	out->time_ms = run->flows.now_ms;
	out->totals = run->flows.totals;
	flows_measure(&run->flows, &out->now);
	run->report->count++;
}

static void start(struct run *run, const struct table *first, bool history)
{
	struct report_step *out = run->report->steps;
	struct table table;

	world_create(&run->world, first, history);
	build(run, &table, out);
	flows_create(&run->flows, run->script, &table);
	count_moved(run);
	note(run, out);
}

bool run_script(const struct script *script, const struct table *first, bool history, struct report *report,
	struct faults *faults)
{
	struct run run = {.script = script, .report = report, .faults = faults};
	bool done = true;

	if (!check(script, first, history, faults))
		return false;
	run.firsts = alloc_zeroed(TABLE_ROWS, sizeof(*run.firsts));
	report->steps = alloc_zeroed(script->count + 1, sizeof(*report->steps));
	start(&run, first, history);
	for (size_t i = 0; done && i < script->count; i++) {
		struct report_step *out = &report->steps[report->count];

		progress("simulated lines", i, script->count);
		*out = out[-1];
		out->step = &script->steps[i];
		out->moved_rows = 0;
		done = do_step(&run, &script->steps[i], out);
		if (done)
			note(&run, out);
	}
	flows_free(&run.flows);
	world_free(&run.world);
	free(run.firsts);
	return done;
}
