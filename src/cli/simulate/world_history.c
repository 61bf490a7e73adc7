/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate/world_history.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_S (24 * 3600) /* as edit does without --keep */

static bool copy_state(struct table_past *to, const struct table_past *from)
{
	size_t size = from->backend_count * sizeof(*to->backends);

	*to = *from;
	to->backends = malloc(size + 1);
	if (to->backends)
		memcpy(to->backends, from->backends, size);
	return to->backends;
}

bool world_history_create(struct world *world, const struct table *first)
{
	struct table *table = &world->table;

	table->past = calloc(TABLE_MAX_PAST, sizeof(*table->past));
	if (!table->past)
		return false;
	for (uint32_t i = 0; world->history && i < first->past_count; i++) {
		if (!copy_state(&table->past[i], &first->past[i]))
			return false;
		table->past[i].time = 0; /* the simulation begins now */
		table->past_count++;
	}
	return true;
}

static void drop_from(struct table *table, uint32_t count)
{
	while (table->past_count > count)
		free(table->past[--table->past_count].backends);
}

void world_history_forget(struct world *world)
{
	drop_from(&world->table, 0);
}

static int compare(const void *a, const void *b)
{
	const struct table_past_backend *x = a, *y = b;

	return netaddr_compare(&x->addr, &y->addr);
}

bool world_history_take(const struct world *world, struct table_past *state)
{
	const struct table *table = &world->table;

	*state = (struct table_past){.balance = table->balance};
	state->backends = calloc(table->backend_count + 1, sizeof(*state->backends));
	for (uint32_t i = 0; state->backends && i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];

		if (backend->state == TABLE_ACTIVE || backend->state == TABLE_FILLING)
			state->backends[state->backend_count++] =
				(struct table_past_backend){.addr = backend->addr, .weight = backend->weight};
	}
	if (state->backends)
		qsort(state->backends, state->backend_count, sizeof(*state->backends), compare);
	return state->backends;
}

static bool is_same(const struct table_past *a, const struct table_past *b)
{
	bool same = a->balance == b->balance && a->backend_count == b->backend_count;

	for (uint32_t i = 0; same && i < a->backend_count; i++)
		same = netaddr_compare(&a->backends[i].addr, &b->backends[i].addr) == 0 &&
		       a->backends[i].weight == b->backends[i].weight;
	return same;
}

/* Drops the states that say nothing besides these two. */
static void drop_same(struct table *table, const struct table_past *state, const struct table_past *now)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < table->past_count; i++) {
		if (is_same(&table->past[i], state) || is_same(&table->past[i], now))
			free(table->past[i].backends);
		else
			table->past[kept++] = table->past[i];
	}
	table->past_count = kept;
}

/* The state becomes the newest one. */
static void push(struct table *table, const struct table_past *state)
{
	drop_from(table, TABLE_MAX_PAST - 1);
	memmove(table->past + 1, table->past, table->past_count * sizeof(*table->past));
	table->past[0] = *state;
	table->past_count++;
}

static void drop_old(struct table *table, int64_t now_s)
{
	uint32_t kept = 0;

	while (kept < table->past_count && table->past[kept].time >= now_s - KEEP_S)
		kept++;
	drop_from(table, kept);
}

bool world_history_add(struct world *world, struct table_past *state, int64_t now_ms)
{
	struct table *table = &world->table;
	struct table_past now;
	bool done = world_history_take(world, &now), changed = done && !is_same(state, &now);

	if (!world->history)
		drop_from(table, 0);
	if (world->history && changed) {
		drop_same(table, state, &now);
		drop_old(table, now_ms / 1000);
		if (state->backend_count > 0) {
			state->time = now_ms / 1000;
			push(table, state);
			state->backends = NULL;
		}
	}
	free(state->backends);
	free(now.backends);
	return done;
}
