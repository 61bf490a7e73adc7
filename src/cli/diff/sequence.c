/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/sequence.h"

#include <stdlib.h>

#include "cli/diff/first_holders.h"

static void free_held(struct sequence *sequence)
{
	for (uint32_t i = 0; sequence->held && i < sequence->set->count; i++)
		holders_free(&sequence->held[i]);
	free(sequence->held);
	sequence->held = NULL;
}

static void set_held(struct sequence *sequence, const struct table_set *set, struct holders *held)
{
	free_held(sequence);
	sequence->set = set;
	sequence->held = held;
}

bool sequence_begin(struct sequence *sequence, const struct table_set *first)
{
	*sequence = (struct sequence){.set = first, .held = calloc(first->count + 1, sizeof(*sequence->held))};
	return sequence->held;
}

void sequence_free(struct sequence *sequence)
{
	free_held(sequence);
	*sequence = (struct sequence){0};
}

/* New connections begin at the first hops of the table. */
static bool add_first_hops(struct holders *holders, const struct table *table)
{
	struct holders_table view;
	bool done = holders_table_open(holders, table, &view);

	for (uint32_t row = 0; row < TABLE_ROWS && done; row++)
		done = holders_add(holders, row, holders_first(&view, row), 1);
	holders_table_close(&view);
	return done;
}

bool sequence_step(struct sequence *sequence, const struct table_set *next, struct table_set_diff *diff)
{
	struct holders *left = calloc(next->count + 1, sizeof(*left));
	bool followed = left && table_set_diff_follow(diff, sequence->set, next, sequence->held, left), done = followed;

	for (uint32_t i = 0; i < next->count && done; i++)
		done = !left[i].list || add_first_hops(&left[i], &next->tables[i]);
	if (left)
		set_held(sequence, next, left);
	if (followed && !done)
		table_set_diff_free(diff);
	return done;
}

/* Fills an empty entry. */
static bool open_held(struct sequence *sequence, uint32_t index)
{
	const struct table *table = &sequence->set->tables[index];

	return sequence->held[index].list ||
	       first_holders_create(&sequence->held[index], table, first_holders_seed(table, NULL));
}

bool sequence_drained(struct sequence *sequence, uint32_t index, const struct netaddr *proxy)
{
	struct holders *held = &sequence->held[index];
	struct holders_table view = {0};
	uint32_t number;
	bool done = open_held(sequence, index) && holders_number(held, proxy, &number) &&
		    holders_table_open(held, &sequence->set->tables[index], &view);

	if (done)
		holders_remove_proxy(held, number);
	for (uint32_t row = 0; row < TABLE_ROWS && done; row++)
		if (holders_first(&view, row) == number)
			done = holders_add(held, row, number, 1);
	holders_table_close(&view);
	return done;
}

bool sequence_older_ended(struct sequence *sequence)
{
	for (uint32_t i = 0; i < sequence->set->count; i++) {
		struct holders *held = &sequence->held[i];

		holders_free(held);
		if (!holders_create(held) || !add_first_hops(held, &sequence->set->tables[i]))
			return false;
	}
	return true;
}
