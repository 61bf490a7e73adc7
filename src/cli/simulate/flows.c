/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"

#define START_OF_ALL INT64_MIN /* connections have begun since ever */

/* Makes room for all named proxies in flows->dead. */
static void know_proxies(struct flows *flows)
{
	uint32_t count = flows->names.proxy_count;

	if (count <= flows->dead_count)
		return;
	flows->dead = alloc_grown(flows->dead, count, sizeof(*flows->dead));
	memset(flows->dead + flows->dead_count, 0, count - flows->dead_count);
	flows->dead_count = count;
}

static void add_time(struct flows *flows, int64_t ms)
{
	size_t room = flows->time_count + 1;

	flows->times_ms = alloc_grown(flows->times_ms, room, sizeof(*flows->times_ms));
	flows->younger = alloc_grown(flows->younger, room, sizeof(*flows->younger));
	flows->times_ms[flows->time_count++] = ms;
}

static double younger_than(const struct flows *flows, uint32_t time, int64_t now_ms)
{
	int64_t ms = flows->times_ms[time];

	return lengths_younger(&flows->script->lengths, ms == START_OF_ALL ? INFINITY : (double)(now_ms - ms));
}

/* Brings flows->younger to the present time. */
static void age(struct flows *flows)
{
	if (flows->aged_count == flows->time_count && flows->aged_ms == flows->now_ms)
		return;
	for (uint32_t i = 0; i < flows->time_count; i++)
		flows->younger[i] = younger_than(flows, i, flows->now_ms);
	flows->aged_count = flows->time_count;
	flows->aged_ms = flows->now_ms;
}

/* Returns the number of connections that begin in a millisecond, in one row, at one director. */
static double begin_rate(const struct flows *flows)
{
	return flows->script->rate / 1000.0 / flows->script->directors / TABLE_ROWS;
}

/* Returns how many connections are left of the run. */
static double run_left(const struct flows *flows, const struct flows_run *run)
{
	double left = flows->younger[run->begin] - (run->end == FLOWS_OPEN ? 0 : flows->younger[run->end]);

	return left * begin_rate(flows) * flows->lanes[run->lane].directors;
}

/* Returns how many of the versions in use reach the proxy. */
static uint32_t count_reaching(const struct flows *flows, uint32_t row, uint32_t proxy)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < flows->used_count; i++)
		count += holders_reach(&flows->used[i]->view, row, proxy) == HOLDERS_REACHED;
	return count;
}

/* Returns the total that counts connections of the proxy, which not all tables in use reach. */
static double *lost_total(struct flows *flows, uint32_t row, uint32_t proxy)
{
	const struct flows_version *newest = flows->versions[flows->version_count - 1];
	double *const by_reach[] = {
		[HOLDERS_REACHED] = &flows->totals.skew,
		[HOLDERS_PUSHED_OUT] = &flows->totals.pushed_out,
		[HOLDERS_GONE] = &flows->totals.removed,
	};

	return flows->dead[proxy] ? &flows->totals.killed : by_reach[holders_reach(&newest->view, row, proxy)];
}

static void lose_runs(struct flows *flows, uint32_t number)
{
	struct flows_row *row = &flows->rows[number];

	for (uint32_t i = row->count; i-- > 0;) {
		uint32_t proxy = row->runs[i].proxy;

		if (!flows->dead[proxy] && count_reaching(flows, number, proxy) == flows->used_count)
			continue;
		*lost_total(flows, number, proxy) += run_left(flows, &row->runs[i]);
		row->runs[i] = row->runs[--row->count];
	}
}

static void open_run(struct flows_row *row, uint32_t proxy, uint32_t lane, uint32_t now)
{
	if (row->count == row->room) {
		row->room = row->room ? 2 * row->room : 2;
		row->runs = alloc_grown(row->runs, row->room, sizeof(*row->runs));
	}
	row->runs[row->count++] = (struct flows_run){.proxy = proxy, .lane = lane, .begin = now, .end = FLOWS_OPEN};
}

/* Ends the lane's run that is open, unless it is of the proxy `wanted`. Returns true if there is such a run now. */
static bool keep_or_end_run(struct flows_row *row, uint32_t lane, uint32_t wanted, uint32_t now)
{
	for (uint32_t i = 0; i < row->count; i++) {
		struct flows_run *run = &row->runs[i];

		if (run->lane != lane || run->end != FLOWS_OPEN)
			continue;
		if (run->proxy == wanted)
			return true;
		if (run->begin == now)
			*run = row->runs[--row->count];
		else
			run->end = now;
		return false;
	}
	return false;
}

static void settle_lane(struct flows *flows, uint32_t row, uint32_t number, uint32_t now)
{
	struct flows_lane *lane = &flows->lanes[number];
	uint32_t first = holders_first(&flows->versions[lane->version]->view, row);
	enum flows_fate fate = flows->dead[first]                                      ? FLOWS_REFUSED
			       : count_reaching(flows, row, first) < flows->used_count ? FLOWS_SKEWED
										       : FLOWS_KEPT;
	bool open = keep_or_end_run(&flows->rows[row], number, fate == FLOWS_KEPT ? first : UINT32_MAX, now);

	lane->rows_by_fate[lane->fates[row]]--;
	lane->fates[row] = (uint8_t)fate;
	lane->rows_by_fate[fate]++;
	if (fate == FLOWS_KEPT && !open)
		open_run(&flows->rows[row], first, number, now);
}

static bool is_same_row(const struct holders_table *a, const struct holders_table *b, uint32_t row)
{
	const uint16_t *x = a->table->rows + (size_t)row * a->table->row_hops;
	const uint16_t *y = b->table->rows + (size_t)row * b->table->row_hops;

	if (a->table->row_hops != b->table->row_hops)
		return false;
	for (unsigned i = 0; i < a->table->row_hops; i++)
		if (a->proxies[x[i]] != b->proxies[y[i]])
			return false;
	return true;
}

static void find_used(struct flows *flows)
{
	flows->used_count = 0;
	for (size_t i = 0; i < flows->version_count; i++)
		if (flows->versions[i] && flows->versions[i]->directors)
			flows->used[flows->used_count++] = flows->versions[i];
}

/*
 * Brings the runs of every row to what the versions in use say now: removes and counts the runs that are lost, ends the
 * runs of proxies that are not the first hop any more, and begins others. If a lane has just replaced the version `old`
 * by `new`, only the rows in which they differ can change. If both are NULL, every row can.
 */
static void settle(struct flows *flows, const struct flows_version *old, const struct flows_version *new)
{
	uint32_t now;

	if (flows->started && flows->times_ms[flows->time_count - 1] != flows->now_ms)
		add_time(flows, flows->now_ms);
	now = flows->time_count - 1;
	age(flows);
	find_used(flows);
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		if (old && is_same_row(&old->view, &new->view, row))
			continue;
		lose_runs(flows, row);
		for (uint32_t lane = 0; lane < flows->lane_count; lane++)
			settle_lane(flows, row, lane, now);
	}
}

static void version_free(struct flows_version *version)
{
	if (!version)
		return;
	holders_table_close(&version->view);
	free(version->table.rows);
	free(version);
}

/* Appends a version. Takes over table->rows. */
static void version_add(struct flows *flows, struct table *table)
{
	struct flows_version *version = alloc_zeroed(1, sizeof(*version));

	flows->versions = alloc_grown(flows->versions, flows->version_count + 1, sizeof(struct flows_version *));
	flows->versions[flows->version_count++] = version;
	version->table = *table;
	version->time_ms = flows->now_ms;
	table->rows = NULL;
	holders_table_open(&flows->names, &version->table, &version->view);
	/* The world changes its backends, and the view has copied what it needs. */
	version->table.backends = NULL;
	know_proxies(flows);
}

/* Directors with the same delay become one lane. */
static void lanes_create(struct flows *flows)
{
	const struct script *script = flows->script;

	flows->lanes = alloc_zeroed(script->directors, sizeof(*flows->lanes));
	for (uint32_t i = 0; i < script->directors; i++) {
		uint32_t lane = 0;

		while (lane < flows->lane_count && flows->lanes[lane].behind_ms != script->behind_ms[i])
			lane++;
		if (lane == flows->lane_count) {
			flows->lanes[lane].behind_ms = script->behind_ms[i];
			flows->lanes[lane].fates = alloc_zeroed(TABLE_ROWS, 1);
			flows->lanes[lane].rows_by_fate[FLOWS_KEPT] = TABLE_ROWS;
			flows->lane_count++;
		}
		flows->lanes[lane].directors++;
	}
	flows->used = alloc_zeroed(flows->lane_count, sizeof(struct flows_version *));
}

void flows_create(struct flows *flows, const struct script *script, struct table *table)
{
	double mean = lengths_mean(&script->lengths);

	*flows = (struct flows){.script = script, .rows = alloc_zeroed(TABLE_ROWS, sizeof(*flows->rows))};
	holders_create(&flows->names);
	lanes_create(flows);
	version_add(flows, table);
	flows->versions[0]->directors = script->directors;
	if (!isinf(mean))
		flows->totals.begun = script->rate / 1000.0 * mean;
	add_time(flows, isinf(mean) ? 0 : START_OF_ALL);
	settle(flows, NULL, NULL);
	flows->started = true;
}

void flows_free(struct flows *flows)
{
	for (size_t i = 0; i < flows->version_count; i++)
		version_free(flows->versions[i]);
	for (uint32_t i = 0; i < flows->lane_count; i++)
		free(flows->lanes[i].fates);
	for (uint32_t row = 0; flows->rows && row < TABLE_ROWS; row++)
		free(flows->rows[row].runs);
	holders_free(&flows->names);
	free(flows->versions);
	free(flows->used);
	free(flows->lanes);
	free(flows->rows);
	free(flows->dead);
	free(flows->times_ms);
	free(flows->younger);
	*flows = (struct flows){0};
}

void flows_set_dead(struct flows *flows, const struct netaddr *addr, bool dead)
{
	uint32_t proxy = holders_number(&flows->names, addr);

	know_proxies(flows);
	flows->dead_changed |= flows->dead[proxy] != dead;
	flows->dead[proxy] = dead;
}

/* The lane uses the next version from now on. */
static void lane_step(struct flows *flows, struct flows_lane *lane)
{
	struct flows_version *old = flows->versions[lane->version], *new = flows->versions[lane->version + 1];

	old->directors -= lane->directors;
	new->directors += lane->directors;
	lane->version++;
	settle(flows, old, new);
	for (uint32_t i = 0; i < flows->lane_count; i++)
		if (flows->lanes[i].version < lane->version)
			return; /* it uses the old version, or will use it */
	version_free(old);
	flows->versions[lane->version - 1] = NULL;
}

/* Returns when the lane uses its next version; INT64_MAX: there is none. */
static int64_t lane_next_ms(const struct flows *flows, const struct flows_lane *lane)
{
	if (lane->version + 1 == flows->version_count)
		return INT64_MAX;
	return flows->versions[lane->version + 1]->time_ms + lane->behind_ms;
}

/* Returns the first lane that uses its next version until `end_ms`; NULL: none does. */
static struct flows_lane *next_lane(const struct flows *flows, int64_t end_ms)
{
	struct flows_lane *found = NULL;
	int64_t first = INT64_MAX;

	for (uint32_t i = 0; i < flows->lane_count; i++) {
		int64_t next = lane_next_ms(flows, &flows->lanes[i]);

		if (next > end_ms || next >= first)
			continue;
		first = next;
		found = &flows->lanes[i];
	}
	return found;
}

static void pass(struct flows *flows, int64_t ms)
{
	double each = flows->script->rate / 1000.0 * (double)ms / flows->script->directors / TABLE_ROWS;

	for (uint32_t i = 0; i < flows->lane_count; i++) {
		const struct flows_lane *lane = &flows->lanes[i];
		double begun = each * lane->directors;

		flows->totals.begun += begun * (lane->rows_by_fate[FLOWS_KEPT] + lane->rows_by_fate[FLOWS_SKEWED]);
		flows->totals.skew += begun * lane->rows_by_fate[FLOWS_SKEWED];
		flows->totals.refused += begun * lane->rows_by_fate[FLOWS_REFUSED];
	}
	flows->now_ms += ms;
}

void flows_wait(struct flows *flows, int64_t ms)
{
	int64_t end_ms = flows->now_ms + ms;
	struct flows_lane *lane;

	while ((lane = next_lane(flows, end_ms))) {
		pass(flows, lane_next_ms(flows, lane) - flows->now_ms);
		lane_step(flows, lane);
	}
	pass(flows, end_ms - flows->now_ms);
}

void flows_publish(struct flows *flows, struct table *table)
{
	if (flows->dead_changed)
		settle(flows, NULL, NULL);
	flows->dead_changed = false;
	version_add(flows, table);
	flows_wait(flows, 0);
}

int64_t flows_late_ms(const struct flows *flows)
{
	int64_t newest = flows->versions[flows->version_count - 1]->time_ms, late = 0;

	for (uint32_t i = 0; i < flows->lane_count; i++) {
		const struct flows_lane *lane = &flows->lanes[i];

		if (lane->version + 1 < flows->version_count && newest + lane->behind_ms - flows->now_ms > late)
			late = newest + lane->behind_ms - flows->now_ms;
	}
	return late;
}

bool flows_has_new(const struct flows *flows, const bool *wanted)
{
	for (uint32_t i = 0; i < flows->lane_count; i++) {
		const struct holders_table *view = &flows->versions[flows->lanes[i].version]->view;

		for (uint32_t row = 0; row < TABLE_ROWS; row++) {
			uint32_t first = holders_first(view, row);

			if (wanted[first] && !flows->dead[first])
				return true;
		}
	}
	return false;
}

double flows_left(const struct flows *flows, const bool *wanted, int64_t ms)
{
	double left = 0;

	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		for (uint32_t i = 0; i < flows->rows[row].count; i++) {
			const struct flows_run *run = &flows->rows[row].runs[i];

			if (wanted[run->proxy])
				left += flows->lanes[run->lane].directors *
					(younger_than(flows, run->begin, flows->now_ms + ms) -
						younger_than(flows, run->end, flows->now_ms + ms));
		}
	}
	return left * begin_rate(flows);
}

/* Adds the connections of a run to the hops that accept their packets in a version. */
static void measure_run(const struct flows *flows, const struct holders_table *view, uint32_t row, uint32_t proxy,
	double left, struct flows_measure *measure)
{
	const uint16_t *hops = view->table->rows + (size_t)row * view->table->row_hops;
	bool blocked = false;

	for (unsigned i = 0; i < view->table->row_hops; i++) {
		if (view->proxies[hops[i]] == proxy) {
			measure->hops[i] += left;
			measure->blocked += blocked ? left : 0;
			return;
		}
		blocked |= flows->dead[view->proxies[hops[i]]];
	}
}

void flows_measure(struct flows *flows, struct flows_measure *measure)
{
	double skew = 0;

	*measure = (struct flows_measure){0};
	age(flows);
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		for (uint32_t i = 0; i < flows->rows[row].count; i++) {
			double left = run_left(flows, &flows->rows[row].runs[i]);

			measure->alive += left;
			for (uint32_t j = 0; j < flows->used_count; j++)
				measure_run(flows, &flows->used[j]->view, row, flows->rows[row].runs[i].proxy,
					left * flows->used[j]->directors / flows->script->directors, measure);
		}
	}
	for (uint32_t i = 0; i < flows->lane_count; i++)
		skew += (double)flows->lanes[i].directors * flows->lanes[i].rows_by_fate[FLOWS_SKEWED];
	measure->skew_percent = 100 * skew / flows->script->directors / TABLE_ROWS;
}
