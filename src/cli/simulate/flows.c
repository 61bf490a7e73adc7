/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/simulate/flows_rows.h"

static void version_free(struct flows_version *version)
{
	if (!version)
		return;
	holders_table_close(&version->view);
	free(version->table.rows);
	free(version);
}

/* Appends a version. Takes over table->rows. */
static bool version_add(struct flows *flows, struct table *table)
{
	struct flows_version **versions =
		realloc(flows->versions, (flows->version_count + 1) * sizeof(struct flows_version *));
	struct flows_version *version = calloc(1, sizeof(*version));
	bool named;

	if (versions)
		flows->versions = versions;
	if (!versions || !version) {
		free(version);
		return false;
	}
	versions[flows->version_count++] = version;
	version->table = *table;
	version->time_ms = flows->now_ms;
	table->rows = NULL;
	named = holders_table_open(&flows->names, &version->table, &version->view);
	/* The world changes its backends, and the view has copied what it needs. */
	version->table.backends = NULL;
	return named && flows_rows_know(flows, flows->names.proxy_count);
}

/* Directors with the same delay become one lane. */
static bool lanes_create(struct flows *flows)
{
	const struct script *script = flows->script;

	flows->lanes = calloc(script->directors, sizeof(*flows->lanes));
	for (uint32_t i = 0; flows->lanes && i < script->directors; i++) {
		uint32_t lane = 0;

		while (lane < flows->lane_count && flows->lanes[lane].behind_ms != script->behind_ms[i])
			lane++;
		if (lane == flows->lane_count) {
			flows->lanes[lane].behind_ms = script->behind_ms[i];
			flows->lanes[lane].fates = calloc(TABLE_ROWS, 1);
			flows->lanes[lane].rows_by_fate[FLOWS_KEPT] = TABLE_ROWS;
			flows->lane_count++;
			if (!flows->lanes[lane].fates)
				return false;
		}
		flows->lanes[lane].directors++;
	}
	flows->used = calloc(flows->lane_count + 1, sizeof(struct flows_version *));
	return flows->lanes && flows->used;
}

bool flows_create(struct flows *flows, const struct script *script, struct table *table)
{
	double mean = lengths_mean(&script->lengths);

	*flows = (struct flows){.script = script, .rows = calloc(TABLE_ROWS, sizeof(*flows->rows))};
	if (!flows->rows || !holders_create(&flows->names) || !lanes_create(flows) || !version_add(flows, table))
		return false;
	flows->versions[0]->directors = script->directors;
	if (!isinf(mean))
		flows->totals.begun = script->rate / 1000.0 * mean;
	if (!flows_rows_start(flows) || !flows_rows_settle(flows, NULL, NULL))
		return false;
	flows->started = true;
	return true;
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

bool flows_set_dead(struct flows *flows, const struct netaddr *addr, bool dead)
{
	uint32_t proxy;

	if (!holders_number(&flows->names, addr, &proxy) || !flows_rows_know(flows, flows->names.proxy_count))
		return false;
	flows->dead_changed |= flows->dead[proxy] != dead;
	flows->dead[proxy] = dead;
	return true;
}

/* The lane uses the next version from now on. */
static bool lane_step(struct flows *flows, struct flows_lane *lane)
{
	struct flows_version *old = flows->versions[lane->version], *new = flows->versions[lane->version + 1];
	bool done;

	old->directors -= lane->directors;
	new->directors += lane->directors;
	lane->version++;
	done = flows_rows_settle(flows, old, new);
	for (uint32_t i = 0; i < flows->lane_count; i++)
		if (flows->lanes[i].version < lane->version)
			return done; /* it uses the old version, or will use it */
	version_free(old);
	flows->versions[lane->version - 1] = NULL;
	return done;
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

bool flows_wait(struct flows *flows, int64_t ms)
{
	int64_t end_ms = flows->now_ms + ms;
	struct flows_lane *lane;

	while ((lane = next_lane(flows, end_ms))) {
		pass(flows, lane_next_ms(flows, lane) - flows->now_ms);
		if (!lane_step(flows, lane))
			return false;
	}
	pass(flows, end_ms - flows->now_ms);
	return true;
}

bool flows_publish(struct flows *flows, struct table *table)
{
	bool settled = !flows->dead_changed || flows_rows_settle(flows, NULL, NULL);

	flows->dead_changed = false;
	return settled && version_add(flows, table) && flows_wait(flows, 0);
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
