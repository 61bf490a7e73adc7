/* SPDX-License-Identifier: BSD-3-Clause */
/* The natural order of rows, with lists and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/byteorder.h"
#include "table/rows/table_order.h"
#include "table/rows/table_rows.h"
#include "tests/unit/table/matched_helpers.h"

struct plain {
	struct table_rank rank;
	uint32_t contender;
};

static int compare(const void *a, const void *b)
{
	const struct plain *x = a, *y = b;

	if (table_rank_before(&x->rank, &y->rank))
		return -1;
	return table_rank_before(&y->rank, &x->rank) ? 1 : (int)x->contender - (int)y->contender;
}

/* The specification step by step: hash all members of the set, and sort them. */
static uint32_t sort_all(const struct table_order *order, uint32_t row, unsigned set, struct plain *out)
{
	uint8_t number[4], message[16];
	uint32_t count = 0;
	uint64_t digest;

	store_be32(number, row);
	digest = siphash(order->seed, number, sizeof(number));
	memcpy(message, &digest, 8);
	for (uint32_t i = 0; i < order->contender_count; i++) {
		if (!(order->contenders[i].sets >> set & 1))
			continue;
		memcpy(message + 8, &order->contenders[i].word, 8);
		digest = siphash(order->seed, message, backend_family == NETADDR_V4 ? 12 : 15);
		out[count].rank = table_rank_of(__builtin_bswap64(digest), order->contenders[i].weight);
		out[count++].contender = i;
	}
	qsort(out, count, sizeof(*out), compare);
	return count;
}

static void assert_walk(const struct table_order *order, uint32_t row, unsigned set)
{
	static struct plain plain[8192];
	uint32_t count = sort_all(order, row, set, plain);
	struct table_order_cursor cursor = {0};
	struct table_order_entry entry;

	for (uint32_t i = 0; i < count; i++) {
		assert_true(table_order_next(order, row, set, &cursor, &entry));
		assert_int_equal(entry.contender, plain[i].contender);
		assert_true(entry.score == plain[i].rank.score);
	}
	assert_false(table_order_next(order, row, set, &cursor, &entry));
	assert_false(table_order_next(order, row, set, &cursor, &entry));
}

static void test_walks_are_in_natural_order_with_and_without_lists(void **state)
{
	static const uint32_t rows[] = {0, 1, 63, 64, 4095, 40000, TABLE_ROWS - 1};

	(void)state;
	for (uint32_t size = 1; size < 200; size += STEP + size / 2) {
		struct table_set set = random_set(1);
		struct table *table = &set.tables[0];
		struct table_order order;

		random_matched_table(table, size, 4, size % 5, ANY_STATE);
		assert_int_equal(table_order_open(&order, table, 0), 0);
		for (int lists = 0; lists < 2; lists++) {
			memset(order.counts, 0, TABLE_ROWS * sizeof(*order.counts));
			if (lists)
				table_order_fill(&order, 0, TABLE_ROWS);
			for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
				for (unsigned s = 0; s < TABLE_ORDER_SETS; s++)
					assert_walk(&order, rows[i], s);
		}
		table_order_close(&order);
		table_set_free(&set);
	}
}

/* A table of equal backends, where most rows need only the list. */
static void test_lists_are_long_enough(void **state)
{
	struct table_set set = random_set(1);
	struct table_order order;
	uint32_t short_rows = 0;

	(void)state;
	random_table(&set.tables[0], 256, 0, 8, NETADDR_V4, ALL_GOOD);
	assert_int_equal(table_order_open(&order, &set.tables[0], 0), 0);
	table_order_fill(&order, 0, TABLE_ROWS);
	for (uint32_t row = 0; row < TABLE_ROWS; row++)
		short_rows += order.counts[row] < 8;
	assert_true(short_rows < TABLE_ROWS / 50);
	table_order_close(&order);
	table_set_free(&set);
}

/* Equal keys of different weights are rare, but more likely with large weights. */
static void test_equal_keys_are_ordered_by_score(void **state)
{
	struct table_set set = random_set(1);
	struct table_order order;
	uint32_t ties = 0;

	(void)state;
	random_table(&set.tables[0], 1000, 0, 8, NETADDR_V4, ALL_GOOD);
	for (uint32_t i = 0; i < 1000; i++)
		set.tables[0].backends[i].weight = (uint16_t)(65000 + i % 500);
	assert_int_equal(table_order_open(&order, &set.tables[0], 0), 0);
	table_order_fill(&order, 0, TABLE_ROWS);
	for (uint32_t row = 0; row < TABLE_ROWS; row += STEP) {
		const struct table_order_entry *entries = order.entries + (size_t)row * order.stride;

		for (uint32_t i = 1; i < order.counts[row]; i++) {
			const struct table_contender *a = &order.contenders[entries[i - 1].contender];
			const struct table_contender *b = &order.contenders[entries[i].contender];

			if (table_weight_key(entries[i - 1].score, a->weight) !=
				table_weight_key(entries[i].score, b->weight))
				continue;
			assert_true(entries[i - 1].score <= entries[i].score);
			assert_walk(&order, row, TABLE_ORDER_SERVING);
			ties++;
		}
	}
	assert_true(ties > 0);
	table_order_close(&order);
	table_set_free(&set);
}

/* More contenders than a list can be sorted from: the row has no list, and the same order. */
static void test_rows_with_too_many_contenders_have_no_list(void **state)
{
	struct table_set set = random_set(1);
	struct table_order order;

	(void)state;
	random_table(&set.tables[0], 129, 0, 8, NETADDR_V4, ALL_GOOD);
	assert_int_equal(table_order_open(&order, &set.tables[0], 0), 0);
	for (uint32_t i = 0; i < order.contender_count; i++)
		order.contenders[i].limit = UINT64_MAX;
	table_order_fill(&order, 0, TABLE_ROWS_BLOCK);
	assert_int_equal(order.counts[7], 0);
	assert_walk(&order, 7, TABLE_ORDER_SERVING);
	order.contenders[128].limit = 0;
	table_order_fill(&order, 0, TABLE_ROWS_BLOCK);
	assert_int_equal(order.counts[7], order.stride);
	table_order_close(&order);
	table_set_free(&set);
}

/* States in which every backend has another weight do not fit into one list. Each state is in one order. */
static void test_states_that_do_not_fit_get_orders_of_their_own(void **state)
{
	struct table_set set = random_set(1);
	struct table *table = &set.tables[0];
	unsigned orders = 0;

	(void)state;
	random_matched_table(table, 300, 8, 8, ALL_GOOD);
	for (unsigned p = 0; p < 8; p++)
		for (uint32_t i = 0; i < table->past[p].backend_count; i++)
			table->past[p].backends[i].weight = (uint16_t)(100 * p + 1 + random_below(100));
	for (unsigned first = 0; first <= 8; orders++) {
		struct table_order order;

		assert_int_equal(table_order_open(&order, table, first), 0);
		assert_in_range(order.end, first + 1, 9);
		table_order_fill(&order, 0, TABLE_ROWS_BLOCK);
		for (unsigned s = 0; s < TABLE_ORDER_SETS; s++) {
			bool any = false;

			for (uint32_t i = 0; i < order.contender_count; i++)
				any |= order.contenders[i].sets >> s & 1;
			assert_int_equal(any, s >= TABLE_ORDER_SERVING ? first == 0 : s >= first && s < order.end);
			assert_walk(&order, 63, s);
		}
		first = order.end;
		table_order_close(&order);
	}
	assert_true(orders > 1 && orders < 9);
	table_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walks_are_in_natural_order_with_and_without_lists),
		cmocka_unit_test(test_lists_are_long_enough),
		cmocka_unit_test(test_equal_keys_are_ordered_by_score),
		cmocka_unit_test(test_rows_with_too_many_contenders_have_no_list),
		cmocka_unit_test(test_states_that_do_not_fit_get_orders_of_their_own),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	backend_family = NETADDR_V6;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
