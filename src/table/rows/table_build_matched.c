/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/rows/table_build_matched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table/rows/table_match.h"
#include "table/rows/table_order.h"

static uint16_t balance_of(const struct table *table, unsigned state)
{
	return state == 0 ? table->balance : table->past[state - 1].balance;
}

/* What `next` of a matching reads. */
struct matching {
	const struct table_order *order;
	struct table_order_cursor *cursors; /* [row] */
	unsigned set;
};

static bool next_proposal(void *context, uint32_t row, struct table_proposal *proposal)
{
	struct matching *matching = context;
	struct table_order_entry entry;

	if (!table_order_next(matching->order, row, matching->set, &matching->cursors[row], &entry))
		return false;
	*proposal = (struct table_proposal){entry.contender, entry.score};
	return true;
}

/* cap = balance * rows * weight / sum of weights, rounded up. */
static void set_caps(const struct table_order *order, unsigned set, unsigned balance, uint32_t *caps)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < order->contender_count; i++)
		if (order->contenders[i].sets >> set & 1)
			sum += 1000 * order->contenders[i].weight;
	for (uint32_t i = 0; i < order->contender_count; i++) {
		uint64_t share = (uint64_t)balance * TABLE_ROWS * order->contenders[i].weight;

		caps[i] = order->contenders[i].sets >> set & 1 ? (uint32_t)((share + sum - 1) / sum) : 0;
	}
}

/* Returns who was the first hop of the row in a state where it was matched to the contender: the next one if that was
 * not healthy. */
static uint16_t holder_of(const struct table_order *order, unsigned state, uint32_t row, uint32_t contender)
{
	if (order->contenders[contender].down >> state & 1)
		contender = table_order_first_up(order, row, state);
	return contender == UINT32_MAX ? TABLE_MATCHES_NONE : order->contenders[contender].backend;
}

/* Without a balance, the first healthy backend in natural order was the first hop. One walk through the list of a row
 * finds the holders of all these states: bit n of `states` is state n. */
static void match_first(const struct table_order *order, uint32_t states, const struct table_matches *matches)
{
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		const struct table_order_entry *entries = order->entries + (size_t)row * order->stride;
		uint32_t left = states;

		for (uint32_t i = 0; left && i < order->counts[row]; i++) {
			const struct table_contender *contender = &order->contenders[entries[i].contender];
			uint32_t found = entries[i].sets & ~contender->down & left;

			left &= ~found;
			for (; found; found &= found - 1)
				matches->states[__builtin_ctz(found)][row] = contender->backend;
		}
		for (; left; left &= left - 1) {
			unsigned state = (unsigned)__builtin_ctz(left);
			uint32_t contender = table_order_first_up(order, row, state);

			matches->states[state][row] =
				contender == UINT32_MAX ? TABLE_MATCHES_NONE : order->contenders[contender].backend;
		}
	}
}

static int match_balanced(const struct table_order *order, unsigned state, unsigned balance, uint16_t *backends)
{
	struct matching matching = {order, calloc(TABLE_ROWS, sizeof(*matching.cursors)), state};
	uint32_t *caps = malloc((order->contender_count + 1) * sizeof(*caps));
	uint32_t *matched = malloc(TABLE_ROWS * sizeof(*matched));
	struct table_match_job job = {TABLE_ROWS, order->contender_count, caps, next_proposal, &matching};
	int error = -ENOMEM;

	if (matching.cursors && caps && matched) {
		set_caps(order, state, balance, caps);
		error = table_match(&job, NULL, matched);
	}
	for (uint32_t row = 0; error == 0 && row < TABLE_ROWS; row++)
		backends[row] = holder_of(order, state, row, matched[row]);
	free(matching.cursors);
	free(caps);
	free(matched);
	return error;
}

/* True: nobody can be matched in this state, or the matching is the same as that of a newer state from `first` on. */
static bool adds_nothing(const struct table_order *order, const struct table *table, unsigned first, unsigned state)
{
	bool same[1 + TABLE_MAX_PAST], any = false;

	for (unsigned newer = first; newer < state; newer++)
		same[newer] = balance_of(table, newer) == balance_of(table, state);
	for (uint32_t i = 0; i < order->contender_count; i++) {
		uint32_t sets = order->contenders[i].sets, down = order->contenders[i].down;

		any |= sets >> state & 1;
		for (unsigned newer = first; newer < state; newer++)
			same[newer] &= !(((sets >> newer ^ sets >> state) | (down >> newer ^ down >> state)) & 1);
	}
	for (unsigned newer = first; newer < state; newer++)
		any &= !same[newer];
	return !any;
}

void table_matches_free(struct table_matches *matches)
{
	for (unsigned state = 0; state <= TABLE_MAX_PAST; state++)
		free(matches->states[state]);
	*matches = (struct table_matches){0};
}

/* Fills an order that begins with state `first`, and matches the rows in its states. */
static int match_states(
	const struct table *table, unsigned first, struct table_order *order, struct table_matches *matches)
{
	int error = table_order_open(order, table, first);
	uint32_t unbalanced = 0;

	if (error == 0)
		table_order_fill(order, 0, TABLE_ROWS);
	for (unsigned state = first; error == 0 && state < order->end; state++) {
		if (adds_nothing(order, table, first, state))
			continue;
		matches->states[state] = malloc(TABLE_ROWS * sizeof(**matches->states));
		if (!matches->states[state])
			error = -ENOMEM;
		else if (balance_of(table, state))
			error = match_balanced(order, state, balance_of(table, state), matches->states[state]);
		else
			unbalanced |= UINT32_C(1) << state;
	}
	if (error == 0 && unbalanced)
		match_first(order, unbalanced, matches);
	return error;
}

/* Matches the rows in all states. *order then has the sets of the table itself. */
static int match_all(const struct table *table, struct table_order *order, struct table_matches *matches)
{
	int error;

	*matches = (struct table_matches){0};
	error = match_states(table, 0, order, matches);
	for (unsigned next = order->end; error == 0 && next <= table->past_count;) {
		struct table_order other;

		error = match_states(table, next, &other, matches);
		next = other.end;
		table_order_close(&other);
	}
	return error;
}

int table_matches_find(const struct table *table, struct table_matches *matches)
{
	struct table_order order;
	int error = match_all(table, &order, matches);

	table_order_close(&order);
	if (error)
		table_matches_free(matches);
	return error;
}

/* The row that is being written. */
struct row {
	uint16_t *hops;
	unsigned count, limit;
};

static void add_hop(struct row *row, uint16_t backend)
{
	if (backend == TABLE_MATCHES_NONE || row->count == row->limit)
		return;
	for (unsigned i = 0; i < row->count; i++)
		if (row->hops[i] == backend)
			return;
	row->hops[row->count++] = backend;
}

static uint16_t first_hop(const struct table *table, const struct table_order *order,
	const struct table_matches *matches, uint32_t number)
{
	uint16_t matched = matches->states[0] ? matches->states[0][number] : TABLE_MATCHES_NONE;
	struct table_order_cursor cursor = {0};
	struct table_order_entry entry;

	if (matched != TABLE_MATCHES_NONE && table->backends[matched].healthy)
		return matched;
	table_order_next(order, number, TABLE_ORDER_PREFERRED, &cursor, &entry);
	return order->contenders[entry.contender].backend;
}

/* A proxy that is down passes no packet on, so the later hops that are healthy come before those that are not. */
static void put_healthy_first(const struct table *table, uint16_t *hops, unsigned count)
{
	uint16_t down[TABLE_MAX_HOPS];
	unsigned healthy = 0, downs = 0;

	for (unsigned i = 0; i < count; i++) {
		if (table->backends[hops[i]].healthy)
			hops[healthy++] = hops[i];
		else
			down[downs++] = hops[i];
	}
	memcpy(hops + healthy, down, downs * sizeof(*down));
}

/* Adds the holders of the row, from the present state to the oldest: those that are healthy now, or the others. */
static void add_holders(
	const struct table *table, const struct table_matches *matches, uint32_t number, bool healthy, struct row *row)
{
	for (unsigned state = 0; state <= table->past_count; state++) {
		uint16_t holder = matches->states[state] ? matches->states[state][number] : TABLE_MATCHES_NONE;

		if (holder != TABLE_MATCHES_NONE && table->backends[holder].healthy == healthy)
			add_hop(row, holder);
	}
}

static void add_natural(const struct table_order *order, uint32_t number, unsigned set, struct row *row)
{
	struct table_order_cursor cursor = {0};
	struct table_order_entry entry;

	while (row->count < row->limit && table_order_next(order, number, set, &cursor, &entry))
		add_hop(row, order->contenders[entry.contender].backend);
}

static void write_row(const struct table *table, const struct table_order *order, const struct table_matches *matches,
	uint32_t number, struct row row)
{
	add_hop(&row, first_hop(table, order, matches, number));
	add_holders(table, matches, number, true, &row);
	add_holders(table, matches, number, false, &row);
	add_natural(order, number, TABLE_ORDER_HEALTHY, &row);
	add_natural(order, number, TABLE_ORDER_SERVING, &row);
	put_healthy_first(table, row.hops + 1, row.count - 1);
}

int table_build_matched(const struct table *table, unsigned row_hops, uint16_t *rows)
{
	struct table_matches matches;
	struct table_order order;
	int error = match_all(table, &order, &matches);

	for (uint32_t row = 0; error == 0 && row < TABLE_ROWS; row++)
		write_row(table, &order, &matches, row, (struct row){rows + (size_t)row * row_hops, 0, row_hops});
	table_matches_free(&matches);
	table_order_close(&order);
	return error;
}
