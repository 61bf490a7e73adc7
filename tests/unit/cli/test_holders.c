/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/rows/table_build.h"
#include "cli/diff/holders.h"
#include "tests/unit/table_helpers.h"

static struct netaddr proxy_addr(unsigned number)
{
	return netaddr_from_bytes(NETADDR_V4, (const uint8_t[]){192, 0, (uint8_t)(number >> 8), (uint8_t)number});
}

static void test_proxies_keep_their_numbers(void **state)
{
	struct holders holders;
	uint32_t number;

	(void)state;
	holders_create(&holders);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 1000; i++) {
			struct netaddr addr = proxy_addr(i * 7919 % 1000);

			number = holders_number(&holders, &addr);
			assert_int_equal(number, i);
			assert_int_equal(netaddr_compare(&holders.proxies[number], &addr), 0);
		}
	}
	assert_int_equal(holders.proxy_count, 1000);
	holders_free(&holders);
}

static void test_a_row_has_a_proxy_once(void **state)
{
	struct holders holders;

	(void)state;
	holders_create(&holders);
	holders_add(&holders, 7, 2);
	holders_add(&holders, 7, 3);
	holders_add(&holders, 7, 2);
	assert_int_equal(holders.counts[7], 2);
	assert_true(holders_of(&holders, 7)[0] == 2 && holders_of(&holders, 7)[1] == 3);
	assert_int_equal(holders.counts[6], 0);
	holders_free(&holders);
}

static void test_rows_grow_and_keep_their_holders(void **state)
{
	struct holders holders;

	(void)state;
	holders_create(&holders);
	holders_add(&holders, 0, 9);
	holders_add(&holders, TABLE_ROWS - 1, 8);
	for (uint32_t i = 0; i < 33; i++)
		holders_add(&holders, 1, i);
	assert_int_equal(holders.counts[1], 33);
	for (uint32_t i = 0; i < 33; i++)
		assert_int_equal(holders_of(&holders, 1)[i], i);
	assert_int_equal(holders_of(&holders, 0)[0], 9);
	assert_int_equal(holders_of(&holders, TABLE_ROWS - 1)[0], 8);
	holders_free(&holders);
}

static void test_a_removed_proxy_is_in_no_row(void **state)
{
	struct holders holders;

	(void)state;
	holders_create(&holders);
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		holders_add(&holders, row, row % 3);
		holders_add(&holders, row, 3);
	}
	holders_remove_proxy(&holders, 0);
	assert_int_equal(holders.counts[0], 1);
	assert_int_equal(holders_of(&holders, 0)[0], 3);
	assert_int_equal(holders.counts[1], 2);
	holders_free(&holders);
}

/* A table with backends 192.0.0.1 to 192.0.0.N. */
static struct table_set make_set(uint32_t backends, uint8_t hops)
{
	struct table_set set = random_set(1);

	random_table(&set.tables[0], backends, 0, hops, NETADDR_V4, ALL_GOOD);
	memset(set.tables[0].seed, 1, sizeof(set.tables[0].seed));
	for (uint32_t i = 0; i < backends; i++)
		set.tables[0].backends[i].addr = proxy_addr(i + 1);
	return set;
}

static void test_a_proxy_is_reached_pushed_out_or_gone(void **state)
{
	struct table_set set = make_set(4, 2);
	struct holders_table view;
	struct holders holders;
	struct netaddr other = proxy_addr(200);
	uint32_t stranger, counts[3] = {0};

	(void)state;
	set.tables[0].backends[3].state = TABLE_INACTIVE;
	assert_int_equal(table_build(&set, 1), 0);
	holders_create(&holders);
	holders_table_open(&holders, &set.tables[0], &view);
	stranger = holders_number(&holders, &other);
	assert_int_equal(stranger, 4);
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		assert_int_equal(holders_reach(&view, row, holders_first(&view, row)), HOLDERS_REACHED);
		assert_int_equal(holders_reach(&view, row, 3), HOLDERS_GONE);
		assert_int_equal(holders_reach(&view, row, stranger), HOLDERS_GONE);
		for (uint32_t proxy = 0; proxy < 3; proxy++)
			counts[holders_reach(&view, row, proxy)]++;
	}
	assert_int_equal(counts[HOLDERS_REACHED], 2 * TABLE_ROWS);
	assert_int_equal(counts[HOLDERS_PUSHED_OUT], TABLE_ROWS);
	assert_int_equal(counts[HOLDERS_GONE], 0);
	holders_table_close(&view);
	holders_free(&holders);
	table_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proxies_keep_their_numbers),
		cmocka_unit_test(test_a_row_has_a_proxy_once),
		cmocka_unit_test(test_rows_grow_and_keep_their_holders),
		cmocka_unit_test(test_a_removed_proxy_is_in_no_row),
		cmocka_unit_test(test_a_proxy_is_reached_pushed_out_or_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
