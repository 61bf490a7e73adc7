/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/sequence.h"

#include <stdlib.h>

#include "cli/alloc.h"
#include "cli/diff/first_holders.h"

void sequence_begin(struct sequence *sequence, const struct table_set *first)
{
	*sequence = (struct sequence){.set = first, .held = alloc_zeroed(first->count, sizeof(*sequence->held))};
}

void sequence_free(struct sequence *sequence)
{
	for (uint32_t i = 0; sequence->held && i < sequence->set->count; i++)
		holders_free(&sequence->held[i]);
	free(sequence->held);
	*sequence = (struct sequence){0};
}

/* New connections begin at the first hops of the table. */
static void add_first_hops(struct holders *holders, const struct table *table)
{
	struct holders_table view;

	holders_table_open(holders, table, &view);
	for (uint32_t row = 0; row < TABLE_ROWS; row++)
		holders_add(holders, row, holders_first(&view, row));
	holders_table_close(&view);
}

void sequence_step(struct sequence *sequence, const struct table_set *next, struct table_set_diff *diff)
{
	struct holders *left = alloc_zeroed(next->count, sizeof(*left));

	table_set_diff_follow(diff, sequence->set, next, sequence->held, left);
	for (uint32_t i = 0; i < next->count; i++)
		if (left[i].list)
			add_first_hops(&left[i], &next->tables[i]);
	sequence_free(sequence);
	*sequence = (struct sequence){.set = next, .held = left};
}

void sequence_drained(struct sequence *sequence, uint32_t index, const struct netaddr *proxy)
{
	const struct table *table = &sequence->set->tables[index];
	struct holders *held = &sequence->held[index];
	struct holders_table view;
	uint32_t number;

	if (!held->list)
		first_holders_create(held, table, first_holders_seed(table, NULL));
	number = holders_number(held, proxy);
	holders_table_open(held, table, &view);
	holders_remove_proxy(held, number);
	for (uint32_t row = 0; row < TABLE_ROWS; row++)
		if (holders_first(&view, row) == number)
			holders_add(held, row, number);
	holders_table_close(&view);
}

void sequence_older_ended(struct sequence *sequence)
{
	for (uint32_t i = 0; i < sequence->set->count; i++) {
		holders_free(&sequence->held[i]);
		holders_create(&sequence->held[i]);
		add_first_hops(&sequence->held[i], &sequence->set->tables[i]);
	}
}
