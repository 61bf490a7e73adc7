/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/flows_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define START_OF_ALL INT64_MIN /* connections have begun since ever */

bool flows_rows_know(struct flows *flows, uint32_t count)
{
	bool *dead;

	if (count <= flows->dead_count)
		return true;
	dead = realloc(flows->dead, count * sizeof(*dead));
	if (!dead)
		return false;
	memset(dead + flows->dead_count, 0, count - flows->dead_count);
	flows->dead = dead;
	flows->dead_count = count;
	return true;
}

static bool add_time(struct flows *flows, int64_t ms)
{
	size_t room = flows->time_count + 1;
	int64_t *times = realloc(flows->times_ms, room * sizeof(*times));
	double *younger = realloc(flows->younger, room * sizeof(*younger));

	if (times)
		flows->times_ms = times;
	if (younger)
		flows->younger = younger;
	if (!times || !younger)
		return false;
	times[flows->time_count++] = ms;
	return true;
}

bool flows_rows_start(struct flows *flows)
{
	return add_time(flows, isinf(lengths_mean(&flows->script->lengths)) ? 0 : START_OF_ALL);
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

static bool open_run(struct flows_row *row, uint32_t proxy, uint32_t lane, uint32_t now)
{
	if (row->count == row->room) {
		uint32_t room = row->room ? 2 * row->room : 2;
		struct flows_run *runs = realloc(row->runs, room * sizeof(*runs));

		if (!runs)
			return false;
		row->runs = runs;
		row->room = room;
	}
	row->runs[row->count++] = (struct flows_run){.proxy = proxy, .lane = lane, .begin = now, .end = FLOWS_OPEN};
	return true;
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

static bool settle_lane(struct flows *flows, uint32_t row, uint32_t number, uint32_t now)
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
	return open || fate != FLOWS_KEPT || open_run(&flows->rows[row], first, number, now);
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

bool flows_rows_settle(struct flows *flows, const struct flows_version *old, const struct flows_version *new)
{
	uint32_t now;

	if (flows->started && flows->times_ms[flows->time_count - 1] != flows->now_ms && !add_time(flows, flows->now_ms))
		return false;
	now = flows->time_count - 1;
	age(flows);
	find_used(flows);
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		if (old && is_same_row(&old->view, &new->view, row))
			continue;
		lose_runs(flows, row);
		for (uint32_t lane = 0; lane < flows->lane_count; lane++)
			if (!settle_lane(flows, row, lane, now))
				return false;
	}
	return true;
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
