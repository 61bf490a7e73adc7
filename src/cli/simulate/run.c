/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/run.h"

#include <stdlib.h>
#include <string.h>

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
	bool good = world_create(&world, first, history);

	if (!good)
		faults_error(faults, NULL, "out of memory");
	for (size_t i = 0; good && i < script->count; i++)
		good = world_change(&world, &script->steps[i], 0, faults);
	world_free(&world);
	return good;
}

/* Builds the newest table. The caller frees table->rows. */
static bool build(const struct run *run, struct table *table, struct report_step *out)
{
	struct table_set set = {.count = 1, .tables = table};
	struct shares shares;

	*table = run->world.table;
	if (table_build(&set, cpus_usable()) != 0 || !shares_count_rows(&shares, table))
		return false;
	out->imbalance = shares.imbalance;
	out->row_hops = table->row_hops;
	shares_free(&shares);
	for (uint32_t i = 0; i < table->backend_count; i++)
		out->proxies += table->backends[i].state != TABLE_INACTIVE;
	return true;
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

static bool note_dead(struct run *run)
{
	const struct table *table = &run->world.table;

	for (uint32_t i = 0; i < table->backend_count; i++)
		if (!flows_set_dead(&run->flows, &table->backends[i].addr, run->world.dead[i]))
			return false;
	return true;
}

static bool publish(struct run *run, struct report_step *out)
{
	struct table table = {0};
	bool done = build(run, &table, out) && note_dead(run) && flows_publish(&run->flows, &table);

	free(table.rows);
	if (done)
		out->moved_rows = count_moved(run);
	return done;
}

/* Returns how long it takes until the proxies have no connections; -1: they still have some after 100 years. */
static int64_t drain_ms(const struct flows *flows, const bool *wanted)
{
	int64_t low = -1, high = 0;

	while (flows_left(flows, wanted, high) >= DRAINED) {
		low = high;
		high = high ? 2 * high : 1000;
		if (high > SCRIPT_MAX_MS)
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
	if (ms >= 0)
		return flows_wait(&run->flows, ms);
	script_error(run->faults, step->line, "%s: %.0f connections are left after 100 years", step->text,
		flows_left(&run->flows, wanted, SCRIPT_MAX_MS));
	return false;
}

static bool wait_drained(struct run *run, const struct script_step *step)
{
	bool *wanted, done = flows_wait(&run->flows, flows_late_ms(&run->flows)) &&
			     world_select(&run->world, step, run->selected, run->faults);

	wanted = calloc(run->flows.names.proxy_count + 1, sizeof(*wanted));
	for (uint32_t i = 0; wanted && i < run->world.table.backend_count; i++) {
		uint32_t proxy;

		if (run->selected[i] && holders_number(&run->flows.names, &run->world.table.backends[i].addr, &proxy))
			wanted[proxy] = true;
	}
	done = done && wanted && wait_for(run, step, wanted);
	free(wanted);
	return done;
}

static bool do_step(struct run *run, const struct script_step *step, struct report_step *out)
{
	if (step->verb == SCRIPT_WAIT)
		return flows_wait(&run->flows, step->wait_ms);
	if (step->verb == SCRIPT_WAIT_DRAINED)
		return wait_drained(run, step);
	out->proxies = 0;
	return world_change(&run->world, step, run->flows.now_ms, run->faults) && publish(run, out);
}

static void note(struct run *run, struct report_step *out)
{
	out->time_ms = run->flows.now_ms;
	out->totals = run->flows.totals;
	flows_measure(&run->flows, &out->now);
	run->report->count++;
}

static bool start(struct run *run, const struct table *first, bool history)
{
	struct report_step *out = run->report->steps;
	struct table table = {0};
	bool done = out && run->firsts && world_create(&run->world, first, history) && build(run, &table, out) &&
		    flows_create(&run->flows, run->script, &table);

	free(table.rows);
	if (!done)
		return false;
	count_moved(run);
	note(run, out);
	return true;
}

bool run_script(const struct script *script, const struct table *first, bool history, struct report *report,
	struct faults *faults)
{
	struct run run = {.script = script, .report = report, .faults = faults};
	bool done = check(script, first, history, faults);

	if (!done)
		return false;
	run.firsts = calloc(TABLE_ROWS, sizeof(*run.firsts));
	report->steps = calloc(script->count + 1, sizeof(*report->steps));
	done = start(&run, first, history);
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
	if (!done && faults->errors == 0)
		faults_error(faults, NULL, "out of memory");
	flows_free(&run.flows);
	world_free(&run.world);
	free(run.firsts);
	return done;
}
