/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/table_share.h"
#include "tests/unit/handmade.h"

static void test_routes_take_over_the_table_set(void **state)
{
	struct table_set set = {0};
	const struct table *tables;
	struct routes *routes;

	(void)state;
	handmade_table(&set, 5, 3);
	handmade_table(&set, 2, 2);
	handmade_bind(&set, 1, "10.0.0.1", TABLE_TCP, 80, 80);
	tables = set.tables;
	routes = handmade_routes(&set);
	assert_int_equal(set.count, 0);
	assert_null(set.tables);
	assert_ptr_equal(routes->set.tables, tables);
	assert_int_equal(routes->digest, table_set_digest(&routes->set));
	assert_int_equal(routes->first_hops, table_set_first_hops(&routes->set));
	assert_int_not_equal(routes->first_hops, routes->digest);
	assert_int_equal(classify_port(routes->classifier, NETADDR_V4, (uint8_t[]){10, 0, 0, 1}, TABLE_TCP, 80),
		CLASSIFY_BINDS + CLASSIFY_NOT_QUIC);
	routes_free(routes);
}

static void test_each_table_has_its_key_rows_and_addresses(void **state)
{
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	handmade_table(&set, 5, 3);
	handmade_table(&set, 2, 2);
	routes = handmade_routes(&set);
	for (uint32_t t = 0; t < 2; t++) {
		const struct routes_table *table = &routes->tables[t];

		assert_int_equal(table->row_hops, t == 0 ? 3 : 2);
		assert_int_equal(table->hash_key[0], t);
		assert_ptr_equal(table->rows, routes->set.tables[t].rows);
		for (uint32_t i = 0; i < routes->set.tables[t].backend_count; i++)
			assert_int_equal(table->addresses[i], handmade_address(t, i));
	}
	routes_free(routes);
}

static void test_tables_with_more_than_256_backends_keep_their_addresses(void **state)
{
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	handmade_table(&set, 257, 2);
	handmade_table(&set, 3, 2);
	routes = handmade_routes(&set);
	assert_int_equal(routes->stride, 257);
	for (uint32_t t = 0; t < 2; t++)
		for (uint32_t i = 0; i < routes->set.tables[t].backend_count; i++)
			assert_int_equal(routes->tables[t].addresses[i], handmade_address(t, i));
	routes_free(routes);
}

/* Table 0 has IPv4, table 1 IPv6 backends, of which two have the same address. */
static void test_addresses_of_both_families_are_found(void **state)
{
	struct netaddr stranger = {.family = NETADDR_V6, .bytes = {0xfd, [12] = 10}};
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	handmade_table(&set, 5, 2);
	handmade_ipv6(handmade_table(&set, 4, 2));
	set.tables[1].backends[3] = set.tables[1].backends[1];
	routes = handmade_routes(&set);
	assert_non_null(routes->ipv6);
	assert_true(!routes->ipv6_only && !routes->outer_ipv6[0] && routes->outer_ipv6[1]);
	assert_null(routes->tables[0].ipv6);
	assert_int_equal(routes->tables[1].addresses[3], routes->tables[1].addresses[1]);
	assert_int_not_equal(routes->tables[1].addresses[2], routes->tables[1].addresses[1]);
	for (uint16_t t = 0; t < 2; t++)
		for (uint32_t i = 0; i < routes->stride; i++) {
			const struct table *table = &routes->set.tables[t];
			struct netaddr address = routes_address(routes, routes_backend(routes, t, i)), hop;

			if (i >= table->backend_count) {
				assert_int_equal(address.family, NETADDR_NONE);
				continue;
			}
			hop = routes_hop(routes, t, routes->tables[t].addresses[i]);
			assert_int_equal(netaddr_compare(&address, &table->backends[i].addr), 0);
			assert_int_equal(netaddr_compare(&hop, &address), 0);
			assert_true(routes_has_backend(routes, &address));
		}
	assert_int_equal(routes_address(routes, 2 * routes->stride).family, NETADDR_NONE);
	assert_false(routes_has_backend(routes, &stranger));
	routes_free(routes);
}

/* With 32 bits of 16 bytes, these would be the same. */
static void test_ipv6_addresses_that_differ_late_are_different_hops(void **state)
{
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	handmade_ipv6(handmade_table(&set, 200, 3));
	routes = handmade_routes(&set);
	assert_true(routes->ipv6_only);
	assert_int_equal(routes->hop_counts[0], 3);
	assert_true(routes_rows_are_distinct(&routes->set.tables[0]));
	routes_free(routes);
}

static void test_without_tables_there_is_no_family(void **state)
{
	struct table_set set = {0};
	struct routes *routes = handmade_routes(&set);

	(void)state;
	assert_null(routes->ipv6);
	assert_int_equal(routes_address(routes, 0).family, NETADDR_NONE);
	routes_free(routes);
}

/* Only a binary table can have an address twice in a row. */
static void test_rows_with_an_address_twice_are_detected(void **state)
{
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	for (uint32_t t = 0; t < 4; t++)
		handmade_table(&set, 5, t < 3 ? 3 : 2);
	for (uint32_t at = 0; at < 3 * TABLE_ROWS; at++)
		set.tables[1].rows[at] = at % 3;
	set.tables[1].backends[2] = set.tables[1].backends[1]; /* hops 2 and 3 of every row */
	set.tables[2].backends[4] = set.tables[2].backends[0]; /* hops 1 and 2 of row 4 */
	set.tables[3].backends[4] = set.tables[3].backends[0]; /* the fast path compares the hops of rows of two */
	routes = handmade_routes(&set);
	assert_int_equal(routes->hop_counts[0], 3);
	assert_int_equal(routes->hop_counts[1], 0);
	assert_int_equal(routes->hop_counts[2], 0);
	assert_int_equal(routes->hop_counts[3], 2);
	assert_false(routes->pairs_only);
	routes_free(routes);
}

static void test_only_rows_of_two_different_hops_are_pairs(void **state)
{
	(void)state;
	for (uint8_t hops = 1; hops <= TABLE_MAX_HOPS; hops++) {
		struct table_set set = {0};
		struct routes *routes;

		handmade_table(&set, 5, 2);
		handmade_table(&set, 5, hops);
		routes = handmade_routes(&set);
		assert_int_equal(routes->pairs_only, hops == 2);
		routes_free(routes);
	}
}

/* Hop `hop` of a row of handmade_table(), or the first one if the row is shorter. */
static uint32_t hop_of(const struct table *table, uint32_t row, uint32_t hop)
{
	return (row + (hop < table->row_hops ? hop : 0)) % table->backend_count;
}

/* Hop 0 or 1 of a pair. The first hop has the lower bits, and the first pair the lower bits of the first byte. */
static uint32_t stored_hop(const struct routes *routes, size_t pair, uint32_t hop)
{
	size_t start = (2 * pair + hop) * routes->hop_bits;
	uint32_t value = 0;

	for (size_t bit = start; bit < start + routes->hop_bits; bit++)
		value |= (uint32_t)(routes->pairs[bit / 8] >> bit % 8 & 1) << (bit - start);
	return value;
}

static void assert_pairs(const struct routes *routes)
{
	for (uint32_t t = 0; t < routes->set.count; t++) {
		const struct table *table = &routes->set.tables[t];
		uint32_t at = routes->row_starts[t];

		for (uint32_t row = 0; row < TABLE_ROWS; row++)
			for (uint32_t hop = 0; hop < 2u << routes->pair_shift; hop += 2, at++) {
				assert_int_equal(stored_hop(routes, at, 0), hop_of(table, row, hop));
				assert_int_equal(stored_hop(routes, at, 1), hop_of(table, row, hop + 1));
			}
	}
}

/* The copy of more than 512 KB has as many bits for a hop as the largest table needs. */
static void test_pairs_are_the_rows(void **state)
{
	static const struct {
		uint32_t backends, bits;
	} sizes[] = {{2, 1}, {3, 2}, {4, 2}, {5, 3}, {16, 4}, {17, 5}, {64, 6}, {65, 7}, {256, 8}, {257, 9}, {1024, 10},
		{1025, 11}, {TABLE_MAX_BACKENDS, 12}};

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct table_set set = {0};
		struct routes *routes;

		for (uint32_t t = 0; t < 5; t++)
			handmade_table(&set, t == 4 ? sizes[i].backends : 2, (uint8_t)(1 + t % 4));
		routes = handmade_routes(&set);
		assert_int_equal(routes->hop_bits, sizes[i].bits);
		assert_true(routes->pairs_whole);
		assert_pairs(routes);
		routes_free(routes);
	}
}

/* Bytes are faster, if they fit near. */
static void test_a_hop_has_a_byte_while_the_copy_is_small(void **state)
{
	(void)state;
	for (uint32_t tables = 1; tables <= 5; tables++) {
		static const uint32_t backends[] = {1, 64, 256, 257};
		static const uint32_t bits[][2] = {{8, 1}, {8, 6}, {8, 8}, {9, 9}};

		for (unsigned i = 0; i < 4; i++) {
			struct table_set set = {0};
			struct routes *routes;

			for (uint32_t t = 0; t < tables; t++)
				handmade_table(&set, backends[i], 2);
			routes = handmade_routes(&set);
			assert_int_equal(routes->hop_bits, bits[i][tables == 5]);
			assert_int_equal(routes->pairs_far, tables * 16 * bits[i][tables == 5] > 512);
			assert_pairs(routes);
			routes_free(routes);
		}
	}
}

static void test_pairs_have_all_hops_unless_few_tables_need_them(void **state)
{
	(void)state;
	for (uint8_t hops = 1; hops <= TABLE_MAX_HOPS; hops++)
		for (uint32_t others = 0; others <= 4; others += 2) {
			struct table_set set = {0};
			struct routes *routes;
			bool whole = hops <= 4 || others <= 2;

			handmade_table(&set, 9, hops);
			for (uint32_t t = 0; t < others; t++)
				handmade_table(&set, 9, 2);
			routes = handmade_routes(&set);
			assert_int_equal(routes->pairs_whole, whole);
			assert_int_equal(routes->pair_shift, !whole || hops <= 2 ? 0 : hops <= 4 ? 1 : 2);
			assert_pairs(routes);
			routes_free(routes);
		}
}

static void test_tables_with_the_same_rows_share_their_pairs(void **state)
{
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	for (uint32_t t = 0; t < 4; t++)
		handmade_table(&set, 5, 4);
	free(set.tables[2].rows);
	table_borrow_rows(&set.tables[2], &set.tables[1]);
	routes = handmade_routes(&set);
	assert_true(routes->rows_shared);
	assert_int_equal(routes->row_starts[1], 2 * TABLE_ROWS);
	assert_int_equal(routes->row_starts[2], 2 * TABLE_ROWS);
	assert_int_equal(routes->row_starts[3], 4 * TABLE_ROWS);
	assert_pairs(routes);
	routes_free(routes);
}

static void test_routes_may_have_no_tables(void **state)
{
	struct table_set set = {0};
	struct routes *routes = handmade_routes(&set);

	(void)state;
	assert_int_equal(classify_address(routes->classifier, NETADDR_V4, (uint8_t[]){10, 0, 0, 1}), CLASSIFY_NONE);
	routes_free(routes);
}

static void test_earlier_errors_do_not_make_routes_fail(void **state)
{
	struct faults faults = {0};
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	handmade_table(&set, 2, 2);
	faults_error(&faults, NULL, "something else");
	routes = routes_create(&set, &faults);
	assert_non_null(routes);
	routes_free(routes);
	faults_clear(&faults);
}

static void test_null_routes_can_be_freed(void **state)
{
	(void)state;
	routes_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes_take_over_the_table_set),
		cmocka_unit_test(test_each_table_has_its_key_rows_and_addresses),
		cmocka_unit_test(test_tables_with_more_than_256_backends_keep_their_addresses),
		cmocka_unit_test(test_addresses_of_both_families_are_found),
		cmocka_unit_test(test_ipv6_addresses_that_differ_late_are_different_hops),
		cmocka_unit_test(test_without_tables_there_is_no_family),
		cmocka_unit_test(test_rows_with_an_address_twice_are_detected),
		cmocka_unit_test(test_only_rows_of_two_different_hops_are_pairs),
		cmocka_unit_test(test_pairs_are_the_rows),
		cmocka_unit_test(test_a_hop_has_a_byte_while_the_copy_is_small),
		cmocka_unit_test(test_pairs_have_all_hops_unless_few_tables_need_them),
		cmocka_unit_test(test_tables_with_the_same_rows_share_their_pairs),
		cmocka_unit_test(test_routes_may_have_no_tables),
		cmocka_unit_test(test_earlier_errors_do_not_make_routes_fail),
		cmocka_unit_test(test_null_routes_can_be_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
