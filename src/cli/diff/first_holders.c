/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/first_holders.h"

#include <stdlib.h>
#include <string.h>

#include "cli/explain.h"
#include "common/cpus.h"
#include "cli/alloc.h"
#include "table/rows/table_build.h"

/* Returns true if `a` comes before `b` in the natural order of the row. */
static bool is_natural_order(
	const uint8_t *seed, uint32_t row, const struct table_backend *a, const struct table_backend *b)
{
	struct table_rank a_rank = explain_rank(seed, (uint16_t)row, a), b_rank = explain_rank(seed, (uint16_t)row, b);

	return !table_rank_before(&b_rank, &a_rank);
}

static bool is_zero(const uint8_t seed[SIPHASH_KEY_SIZE])
{
	static const uint8_t zero[SIPHASH_KEY_SIZE];

	return memcmp(seed, zero, SIPHASH_KEY_SIZE) == 0;
}

/* Version 2 has inactive backends as draining: those that are in no row get their state back. */
static void restore_inactive(const struct table *table, struct table_backend *backends)
{
	for (uint32_t i = 0; i < table->backend_count; i++) {
		backends[i] = table->backends[i];
		if (backends[i].state == TABLE_DRAINING)
			backends[i].state = TABLE_INACTIVE;
	}
	for (size_t i = 0; i < (size_t)TABLE_ROWS * table->row_hops; i++)
		backends[table->rows[i]].state = table->backends[table->rows[i]].state;
}

/* Rows with two good backends depend on the seed. Returns true if there are enough of them to tell a wrong seed. */
static bool rows_tell(const struct table *table)
{
	uint32_t telling = 0;

	for (uint32_t row = 0; row < TABLE_ROWS && table->row_hops > 1; row++) {
		const uint16_t *hops = table->rows + (size_t)row * table->row_hops;

		telling += hops[0] != hops[1] && table_backend_is_good(&table->backends[hops[0]]) &&
			   table_backend_is_good(&table->backends[hops[1]]);
	}
	return telling >= 64;
}

/* Returns true if the seed alone, without balance and previous states, makes the rows of the table. */
static bool seed_made(const struct table *table, const uint8_t *seed)
{
	struct table copy = *table;
	struct table_set set = {.count = 1, .tables = &copy};
	bool made;

	if (!rows_tell(table))
		return false;
	memcpy(copy.seed, seed, sizeof(copy.seed));
	copy.rows = NULL;
	copy.backends = alloc_zeroed(table->backend_count, sizeof(*copy.backends));
	restore_inactive(table, copy.backends);
	made = table_build(&set, cpus_usable()) == 0 && copy.row_hops == table->row_hops &&
	       memcmp(copy.rows, table->rows, sizeof(*copy.rows) * TABLE_ROWS * copy.row_hops) == 0;
	free(copy.rows);
	free(copy.backends);
	return made;
}

const uint8_t *first_holders_seed(const struct table *before, const struct table *after)
{
	if (!is_zero(before->seed))
		return before->seed;
	return !table_is_matched(before) && after && !is_zero(after->seed) && seed_made(before, after->seed) ? after->seed
													     : NULL;
}

struct first {
	struct holders *holders;
	struct holders_table view;
	const uint8_t *seed; /* NULL: not known */
	bool *in_past; /* by number of a proxy: it is in a previous state */
};

/* Returns true if a hop that is not the first one may have connections of the row. */
static bool may_hold(const struct first *first, uint32_t row, uint16_t hop, uint16_t first_hop)
{
	const struct table *table = first->view.table;
	const struct table_backend *backend = &table->backends[hop];

	if (!first->seed)
		return !table_backend_is_good(backend) || first->in_past[first->view.proxies[hop]];
	if (table_backend_is_good(backend))
		return false;
	/* With a balance, the natural order does not tell who was first. */
	return table->balance || is_natural_order(first->seed, row, backend, &table->backends[first_hop]);
}

static void add_row(const struct first *first, uint32_t row)
{
	const struct table *table = first->view.table;
	const uint16_t *hops = table->rows + (size_t)row * table->row_hops;

	holders_add(first->holders, row, first->view.proxies[hops[0]]);
	for (unsigned hop = 1; hop < table->row_hops; hop++)
		if (hops[hop] != hops[0] && may_hold(first, row, hops[hop], hops[0]))
			holders_add(first->holders, row, first->view.proxies[hops[hop]]);
}

/* Adds the first hops of a state, if the rows reach them. state: a table whose backends are all active, and which has
 * one hop. */
static void add_matched(const struct first *first, struct table *state)
{
	struct table_set set = {.count = 1, .tables = state};
	struct holders_table view;

	if (table_build(&set, cpus_usable()) != 0)
		alloc_failed();
	holders_table_open(first->holders, state, &view);
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		uint32_t matched = holders_first(&view, row);

		if (holders_reach(&first->view, row, matched) == HOLDERS_REACHED)
			holders_add(first->holders, row, matched);
	}
	holders_table_close(&view);
	free(state->rows);
}

/* Sets up the backends of a state, and adds who held connections in it. past: NULL for the table itself. */
static void add_state(const struct first *first, const struct table_past *past)
{
	const struct table *table = first->view.table;
	uint32_t count = past ? past->backend_count : table->backend_count;
	struct table state = {.hops = 1, .balance = past ? past->balance : table->balance};

	memcpy(state.seed, first->seed, sizeof(state.seed));
	state.backends = alloc_zeroed(count, sizeof(*state.backends));
	for (uint32_t i = 0; i < count; i++) {
		struct table_backend *backend = &state.backends[state.backend_count];

		*backend = (struct table_backend){.state = TABLE_ACTIVE};
		backend->addr = past ? past->backends[i].addr : table->backends[i].addr;
		backend->weight = past ? past->backends[i].weight : table->backends[i].weight;
		backend->healthy = !past || past->backends[i].healthy;
		state.backend_count += past || table->backends[i].state <= TABLE_ACTIVE;
	}
	if (table_good_backends(&state))
		add_matched(first, &state);
	free(state.backends);
}

static void mark_past(const struct first *first)
{
	const struct table *table = first->view.table;

	for (uint32_t p = 0; p < table->past_count; p++)
		for (uint32_t i = 0; i < table->past[p].backend_count; i++)
			first->in_past[holders_number(first->holders, &table->past[p].backends[i].addr)] = true;
}

void first_holders_create(struct holders *holders, const struct table *table, const uint8_t *seed)
{
	struct first first = {.holders = holders, .seed = seed};
	size_t proxies = table->backend_count;

	holders_create(holders);
	holders_table_open(holders, table, &first.view);
	for (uint32_t i = 0; i < table->past_count; i++)
		proxies += table->past[i].backend_count;
	first.in_past = alloc_zeroed(proxies, sizeof(*first.in_past));
	mark_past(&first);
	for (uint32_t row = 0; row < TABLE_ROWS; row++)
		add_row(&first, row);
	if (seed && table_is_matched(table)) {
		add_state(&first, NULL);
		for (uint32_t i = 0; i < table->past_count; i++)
			add_state(&first, &table->past[i]);
	}
	holders_table_close(&first.view);
	free(first.in_past);
}
