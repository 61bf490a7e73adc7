/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/first_holders.h"

#include <string.h>

#include "cli/explain.h"

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

/* Good backends keep their natural order in a row. Returns true if all rows, and enough of them, confirm the seed. */
static bool seed_made(const struct table *table, const uint8_t *seed)
{
	uint32_t confirmed = 0;

	for (uint32_t row = 0; row < TABLE_ROWS && table->row_hops > 1; row++) {
		const uint16_t *hops = table->rows + (size_t)row * table->row_hops;
		const struct table_backend *first = &table->backends[hops[0]], *second = &table->backends[hops[1]];

		if (hops[0] == hops[1] || !table_backend_is_good(first) || !table_backend_is_good(second))
			continue;
		if (!is_natural_order(seed, row, first, second))
			return false;
		confirmed++;
	}
	return confirmed >= 64;
}

const uint8_t *first_holders_seed(const struct table *before, const struct table *after)
{
	if (table_is_matched(before))
		return NULL;
	if (!is_zero(before->seed))
		return before->seed;
	return after && !is_zero(after->seed) && seed_made(before, after->seed) ? after->seed : NULL;
}

static bool add_row(struct holders *holders, const struct holders_table *view, uint32_t row, const uint8_t *seed)
{
	const struct table *table = view->table;
	const uint16_t *hops = table->rows + (size_t)row * table->row_hops;
	bool added = holders_add(holders, row, view->proxies[hops[0]], 1);

	for (unsigned hop = 1; hop < table->row_hops && added; hop++) {
		const struct table_backend *backend = &table->backends[hops[hop]];

		if (hops[hop] == hops[0] || table_backend_is_good(backend) ||
			(seed && !is_natural_order(seed, row, backend, &table->backends[hops[0]])))
			continue;
		added = holders_add(holders, row, view->proxies[hops[hop]], 1);
	}
	return added;
}

bool first_holders_create(struct holders *holders, const struct table *table, const uint8_t *seed)
{
	struct holders_table view = {0};
	bool done = holders_create(holders) && holders_table_open(holders, table, &view);

	for (uint32_t row = 0; row < TABLE_ROWS && done; row++)
		done = add_row(holders, &view, row, seed);
	holders_table_close(&view);
	return done;
}
