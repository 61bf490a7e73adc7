/* SPDX-License-Identifier: BSD-3-Clause */
/* The route digest and the fingerprint of tables: what changes them, and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/rows/table_build.h"
#include "tests/unit/table_helpers.h"

/* Names and the version do not steer packets. Everything else does. */
static void test_different_routes_have_different_digests(void **state)
{
	struct table_set set = random_set(1);
	struct table *table = &set.tables[0];
	uint64_t digest;
	uint16_t hop;

	(void)state;
	random_table(table, 5, 3, 2, NETADDR_V4, ALL_GOOD);
	assert_int_equal(table_build(&set, 1), 0);
	digest = table_set_digest(&set);
	table->name[0]++;
	assert_int_equal(table_set_digest(&set), digest);
	table->hash_key[7] ^= 1;
	assert_int_not_equal(table_set_digest(&set), digest);
	table->hash_key[7] ^= 1;
	table->binds[2].port_end ^= 1;
	assert_int_not_equal(table_set_digest(&set), digest);
	table->binds[2].port_end ^= 1;
	table->backends[4].addr.bytes[3] ^= 1;
	assert_int_not_equal(table_set_digest(&set), digest);
	table->backends[4].addr.bytes[3] ^= 1;
	hop = table->rows[2 * 65535 + 1];
	table->rows[2 * 65535 + 1] = (uint16_t)((hop + 1) % table->backend_count);
	assert_int_not_equal(table_set_digest(&set), digest);
	table->rows[2 * 65535 + 1] = hop;
	assert_int_equal(table_set_digest(&set), digest);
	table_set_free(&set);
}

#define SWAP(array, a, b)                                  \
	do {                                               \
		__typeof__((array)[0]) first = (array)[a]; \
		(array)[a] = (array)[b];                   \
		(array)[b] = first;                        \
	} while (0)

static void test_the_order_of_backends_and_binds_does_not_change_the_digests(void **state)
{
	struct table_set set = random_set(2);
	uint64_t digest, fingerprint;

	(void)state;
	for (uint32_t t = 0; t < 2; t++)
		random_table(&set.tables[t], 40, 30, 3, NETADDR_V4, ALL_GOOD);
	assert_int_equal(table_build(&set, 1), 0);
	digest = table_set_digest(&set);
	fingerprint = table_set_fingerprint(&set);
	for (uint32_t i = 0; i < 20; i++) {
		SWAP(set.tables[1].backends, i, 39 - i);
		SWAP(set.tables[1].binds, i, 29 - i);
	}
	free(set.tables[1].rows);
	set.tables[1].rows = NULL;
	free(set.tables[0].rows);
	set.tables[0].rows = NULL;
	assert_int_equal(table_build(&set, 1), 0);
	assert_int_equal(table_set_digest(&set), digest);
	assert_int_equal(table_set_fingerprint(&set), fingerprint);
	SWAP(set.tables, 0, 1); /* of two binds that overlap, that of the first table wins */
	assert_int_not_equal(table_set_digest(&set), digest);
	assert_int_not_equal(table_set_fingerprint(&set), fingerprint);
	table_set_free(&set);
}

static void test_backends_without_rows_do_not_change_the_digest(void **state)
{
	struct table_set set = random_set(1);
	uint64_t digest;

	(void)state;
	random_table(&set.tables[0], 5, 3, 2, NETADDR_V4, ALL_GOOD);
	set.tables[0].backends[4].state = TABLE_INACTIVE;
	assert_int_equal(table_build(&set, 1), 0);
	digest = table_set_digest(&set);
	set.tables[0].backend_count--;
	assert_int_equal(table_set_digest(&set), digest);
	table_set_free(&set);
}

/* A failure that only some directors saw changes later hops only. */
static void test_the_digest_of_first_hops_ignores_later_hops(void **state)
{
	struct table_set set = random_set(1);
	struct table *table = &set.tables[0];
	uint64_t first_hops;

	(void)state;
	for (uint32_t hops = 2; hops <= TABLE_MAX_HOPS; hops += 3) {
		uint16_t *row;

		random_table(table, 10, 3, hops, NETADDR_V4, ALL_GOOD);
		assert_int_equal(table_build(&set, 1), 0);
		first_hops = table_set_first_hops(&set);
		assert_int_not_equal(table_set_digest(&set), first_hops);
		for (uint32_t at = 0; at < TABLE_ROWS; at += 65535 / 3) {
			row = table->rows + (size_t)at * table->row_hops;
			row[1] = (uint16_t)((row[1] + 1) % table->backend_count);
			row[hops - 1] = (uint16_t)((row[hops - 1] + 1) % table->backend_count);
			assert_int_equal(table_set_first_hops(&set), first_hops);
			row[0] = (uint16_t)((row[0] + 1) % table->backend_count);
			assert_int_not_equal(table_set_first_hops(&set), first_hops);
			row[0] = (uint16_t)((row[0] + table->backend_count - 1) % table->backend_count);
			assert_int_equal(table_set_first_hops(&set), first_hops);
		}
		table->hash_key[7] ^= 1;
		assert_int_not_equal(table_set_first_hops(&set), first_hops);
		table->hash_key[7] ^= 1;
		table->binds[2].port_end ^= 1;
		assert_int_not_equal(table_set_first_hops(&set), first_hops);
		table_set_free(&set);
		set = random_set(1);
		table = &set.tables[0];
	}
	table_set_free(&set);
}

/* The fingerprint tells which proxies and addresses a table has, whatever their state. */
static void test_the_fingerprint_ignores_names_states_and_rows(void **state)
{
	struct table_set set = random_set(1);
	struct table *table = &set.tables[0];
	uint64_t fingerprint;

	(void)state;
	random_table(table, 5, 3, 2, NETADDR_NONE, ALL_GOOD);
	fingerprint = table_set_fingerprint(&set);
	assert_int_equal(table_build(&set, 1), 0);
	assert_int_not_equal(table_set_digest(&set), fingerprint);
	table->name[0]++;
	table->seed[0] ^= 1;
	table->hops = 4;
	table->backends[1].state = TABLE_INACTIVE;
	table->backends[2].healthy = false;
	table->rows[17] ^= 1;
	set.replaces = 1;
	assert_int_equal(table_set_fingerprint(&set), fingerprint);
	table->hash_key[15] ^= 1;
	assert_int_not_equal(table_set_fingerprint(&set), fingerprint);
	table->hash_key[15] ^= 1;
	table->backends[4].addr.bytes[3] ^= 1;
	assert_int_not_equal(table_set_fingerprint(&set), fingerprint);
	table->backends[4].addr.bytes[3] ^= 1;
	table->binds[2].port_start ^= 1;
	assert_int_not_equal(table_set_fingerprint(&set), fingerprint);
	table->binds[2].port_start ^= 1;
	table->bind_count--;
	assert_int_not_equal(table_set_fingerprint(&set), fingerprint);
	table->bind_count++;
	set.count = 0;
	assert_int_not_equal(table_set_fingerprint(&set), fingerprint);
	set.count = 1;
	assert_int_equal(table_set_fingerprint(&set), fingerprint);
	table_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_different_routes_have_different_digests),
		cmocka_unit_test(test_the_order_of_backends_and_binds_does_not_change_the_digests),
		cmocka_unit_test(test_backends_without_rows_do_not_change_the_digest),
		cmocka_unit_test(test_the_digest_of_first_hops_ignores_later_hops),
		cmocka_unit_test(test_the_fingerprint_ignores_names_states_and_rows),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	backend_family = NETADDR_V6;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
