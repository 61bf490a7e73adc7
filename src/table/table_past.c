/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/table_past.h"

#include <stdlib.h>
#include <string.h>

static int compare_backends(const void *a, const void *b)
{
	const struct table_past_backend *one = a, *other = b;

	return netaddr_compare(&one->addr, &other->addr);
}

void table_past_sort(struct table_past *state)
{
	qsort(state->backends, state->backend_count, sizeof(*state->backends), compare_backends);
}

bool table_past_of(const struct table *table, bool with_health, struct table_past *state)
{
	bool any = false;

	*state = (struct table_past){
		.balance = table->balance,
		.backends = calloc(table->backend_count + 1, sizeof(*state->backends)),
	};
	for (uint32_t i = 0; state->backends && i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];
		bool healthy = backend->healthy || !with_health;

		/* Without a balance, rows pass over unhealthy proxies as if these were not there. */
		if ((backend->state != TABLE_ACTIVE && backend->state != TABLE_FILLING) || (!healthy && !table->balance))
			continue;
		state->backends[state->backend_count] = (struct table_past_backend){
			backend->addr, (uint16_t)table_backend_weight(backend), healthy, {{0}}};
		memcpy(state->backends[state->backend_count++].server_ids, backend->server_ids,
			sizeof(backend->server_ids));
		any |= healthy;
	}
	if (!any)
		state->backend_count = 0;
	if (state->backends)
		table_past_sort(state);
	return state->backends;
}

static const struct table_past_backend *find(const struct table_past *sorted, const struct netaddr *addr)
{
	struct table_past_backend key = {.addr = *addr};

	return bsearch(&key, sorted->backends, sorted->backend_count, sizeof(key), compare_backends);
}

bool table_past_is_same(const struct table_past *sorted, const struct table_past *other)
{
	if (sorted->balance != other->balance || sorted->backend_count != other->backend_count)
		return false;
	for (uint32_t i = 0; i < other->backend_count; i++) {
		const struct table_past_backend *found = find(sorted, &other->backends[i].addr);

		if (!found || found->weight != other->backends[i].weight || found->healthy != other->backends[i].healthy)
			return false;
	}
	return true;
}

bool table_past_is_old(const struct table_past *past, int64_t time, uint32_t keep_s)
{
	return keep_s == 0 || (past->time < time && time - past->time > keep_s);
}

/* About the share of the rows that have another first hop with another limit of the imbalance. */
#define BALANCE_MOVES 0.03f

/* Shares of all rows that living proxies were first in, for several states: shares[state * columns + backend]. The last
 * column is the balance of the state. */
struct shares {
	const struct table *table;
	float *of;
	uint32_t columns;
};

static void add_shares(struct shares *shares, uint32_t *order, uint32_t state, const struct table_past *past)
{
	float *of = shares->of + (size_t)state * shares->columns;
	float sum = 0;

	for (uint32_t i = 0; i < past->backend_count; i++)
		sum += past->backends[i].healthy ? past->backends[i].weight : 0;
	for (uint32_t i = 0; i < past->backend_count; i++) {
		uint32_t at = table_find_backend(shares->table, order, &past->backends[i].addr);

		if (at < shares->table->backend_count && past->backends[i].healthy &&
			shares->table->backends[at].healthy && shares->table->backends[at].state != TABLE_INACTIVE)
			of[at] = past->backends[i].weight / sum;
	}
	of[shares->table->backend_count] = past->balance;
}

/* Returns about which share of the rows has another living proxy first in one state than in the other. */
static float difference(const struct shares *shares, uint32_t state, uint32_t other)
{
	uint32_t count = shares->table->backend_count;
	const float *a = shares->of + (size_t)state * shares->columns, *b = shares->of + (size_t)other * shares->columns;
	float sum = a[count] < b[count] || a[count] > b[count] ? BALANCE_MOVES : 0;

	for (uint32_t i = 0; i < count; i++)
		sum += a[i] > b[i] ? a[i] - b[i] : 0;
	return sum;
}

/*
 * Returns the index of the state that is worth least: the share of rows in which it differs from its nearest state,
 * divided by its age, because connections end. Of several, the oldest. Without `shares`, that is the oldest one. States
 * `count` and `count` + 1 are those before and after the change.
 */
static uint32_t find_least(const struct shares *shares, const struct table_past *const *states, int64_t now,
	const enum table_past_fate *fates, uint32_t count)
{
	uint32_t least = 0;
	float least_worth = 2;

	for (uint32_t i = 0; i < count; i++) {
		float nearest = 1;

		if (fates[i] != TABLE_PAST_KEPT)
			continue;
		for (uint32_t other = 0; shares->of && other < count + 2; other++) {
			float differs = other != i && (other >= count || fates[other] == TABLE_PAST_KEPT)
						? difference(shares, i, other)
						: 1;

			nearest = differs < nearest ? differs : nearest;
		}
		nearest /= now > states[i]->time ? (float)(now - states[i]->time) : 1;
		if (nearest <= least_worth) {
			least_worth = nearest;
			least = i;
		}
	}
	return least;
}

static void crowd_out(const struct table_past_change *change, const struct table_past *const *states, uint32_t count,
	enum table_past_fate *fates, uint32_t too_many)
{
	uint32_t columns = change->table->backend_count + 1;
	struct shares shares = {change->table, calloc((size_t)(count + 2) * columns, sizeof(float)), columns};
	uint32_t *order = table_backend_order(change->table);

	for (uint32_t i = 0; shares.of && i < count; i++)
		add_shares(&shares, order, i, states[i]);
	if (shares.of) {
		add_shares(&shares, order, count, change->before);
		add_shares(&shares, order, count + 1, change->now);
	}
	for (; too_many; too_many--)
		fates[find_least(&shares, states, change->time, fates, count)] = TABLE_PAST_CROWDED;
	free(shares.of);
	free(order);
}

void table_past_choose(const struct table_past_change *change, const struct table_past *const *states, uint32_t count,
	enum table_past_fate *fates)
{
	uint32_t kept = change->before->backend_count > 0;

	for (uint32_t i = 0; i < count; i++) {
		if (table_past_is_same(change->before, states[i]) || table_past_is_same(change->now, states[i]))
			fates[i] = TABLE_PAST_REPEATED;
		else if (table_past_is_old(states[i], change->time, change->keep_s))
			fates[i] = TABLE_PAST_OLD;
		else
			fates[i] = TABLE_PAST_KEPT;
		kept += fates[i] == TABLE_PAST_KEPT;
	}
	if (kept > TABLE_MAX_PAST)
		crowd_out(change, states, count, fates, kept - TABLE_MAX_PAST);
}
