/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of tables, backends and binds: tallies, one row per worker, no shared cache lines, and what a reload keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/handmade.h"
#include "worker/counts/table_counts.h"

static struct routes *make_routes(uint32_t backends)
{
	struct table_set set = {0};

	handmade_table(&set, 3, 2);
	handmade_table(&set, backends, 2);
	return handmade_routes(&set);
}

static void test_workers_share_no_cache_line(void **state)
{
	struct routes *routes = make_routes(5);
	struct table_counts counts;

	(void)state;
	assert_true(table_counts_alloc(&counts, routes, 3));
	for (unsigned worker = 0; worker < 3; worker++) {
		uint64_t *tallies = count_rows_of(&counts.backends, BACKEND_TALLY, worker);

		assert_int_equal((uintptr_t)tallies % 64, 0);
		assert_true(counts.backends.stride >= routes->address_count);
		for (uint32_t i = 0; i < routes->address_count; i++)
			tally_add(&tallies[i], 100 + i, 1 + worker);
	}
	for (uint32_t i = 0; i < routes->address_count; i++) {
		assert_int_equal(table_counts_backend(&counts, i).packets, 6);
		assert_int_equal(table_counts_backend(&counts, i).bytes, 6 * (100 + i));
	}
	table_counts_free(&counts);
	routes_free(routes);
}

static void count(
	struct table_counts *counts, const struct routes *routes, unsigned worker, uint32_t backend, uint64_t packets)
{
	tally_add(&count_rows_of(&counts->backends, BACKEND_TALLY, worker)[routes_backend(routes, 1, backend)], 70,
		packets);
}

/* Asserts what a backend of the second table has counted. */
static void assert_counted(
	const struct table_counts *counts, const struct routes *routes, uint32_t backend, uint64_t packets)
{
	struct forwarded sum = table_counts_backend(counts, routes_backend(routes, 1, backend));

	assert_int_equal(sum.packets, packets);
	assert_int_equal(sum.bytes, 70 * packets);
}

/* Settles the tallies of all backends, as after many packets. */
static void settle_all(struct table_counts *counts, const struct routes *routes, unsigned worker)
{
	struct settler settler = {0};

	table_counts_settle(counts, routes, worker, &settler, SETTLE_PACKETS);
}

static void test_tallies_overflow_without_loss(void **state)
{
	const uint64_t most = (1u << 24) - 1;
	struct routes *routes = make_routes(5);
	uint64_t packets = 0, bytes = 0;
	struct table_counts counts;
	struct forwarded sum;

	(void)state;
	assert_true(table_counts_alloc(&counts, routes, 2));
	for (unsigned round = 0; round < 100; round++) {
		uint32_t size = round % 2 ? UINT16_MAX : 100; /* 2^24 packets of 64 KB are just less than 2^40 bytes */

		tally_add(&count_rows_of(&counts.backends, BACKEND_TALLY, 1)[3], size, most);
		packets += most;
		bytes += most * size;
		for (unsigned settled = 0; settled < 2; settled++) {
			sum = table_counts_backend(&counts, 3);
			assert_true(sum.packets == packets && sum.bytes == bytes);
			settle_all(&counts, routes, 1);
		}
	}
	assert_int_equal(count_rows_of(&counts.backends, BACKEND_PACKETS, 1)[3], packets);
	table_counts_free(&counts);
	routes_free(routes);
}

/* All packets go to one backend, and each counts twice. */
static void test_tallies_are_settled_long_before_they_overflow(void **state)
{
	static const uint32_t batches[] = {1, 7, 64, 2048, 8192, 100000};
	struct routes *routes = make_routes(2000);

	(void)state;
	for (unsigned b = 0; b < sizeof(batches) / sizeof(batches[0]); b++) {
		struct table_counts counts;
		struct settler settler = {0};
		uint64_t *tally, *settled, packets = 0;

		assert_true(table_counts_alloc(&counts, routes, 1));
		tally = &count_rows_of(&counts.backends, BACKEND_TALLY, 0)[1777];
		settled = &count_rows_of(&counts.backends, BACKEND_PACKETS, 0)[1777];
		while (packets < 5 * SETTLE_PACKETS && packets / 2 < 1000000ull * batches[b]) {
			tally_add(tally, UINT16_MAX, 2 * batches[b]);
			packets += 2 * batches[b];
			table_counts_settle(&counts, routes, 0, &settler, batches[b]);
			assert_true(packets - *settled < 1u << 24);
		}
		assert_true(*settled > 0 || packets < 2 * SETTLE_PACKETS);
		assert_true(table_counts_backend(&counts, 1777).packets == packets);
		assert_true(table_counts_backend(&counts, 1777).bytes == packets * UINT16_MAX);
		table_counts_free(&counts);
	}
	routes_free(routes);
}

/* A reader may see only one of two stores. */
static void test_a_half_settled_tally_is_read_in_full(void **state)
{
	struct routes *routes = make_routes(5);
	struct table_counts counts;

	(void)state;
	assert_true(table_counts_alloc(&counts, routes, 1));
	count(&counts, routes, 0, 2, 1000);
	settle_all(&counts, routes, 0);
	count(&counts, routes, 0, 2, 500);
	count_rows_of(&counts.backends, BACKEND_PACKETS, 0)[routes_backend(routes, 1, 2)] += 500;
	assert_counted(&counts, routes, 2, 1500);
	table_counts_free(&counts);
	routes_free(routes);
}

static void test_tallies_are_settled_in_turn(void **state)
{
	struct routes *routes = make_routes(5);
	struct table_counts counts;
	struct settler settler = {.next = 1000}; /* of a table with more backends */

	(void)state;
	assert_true(table_counts_alloc(&counts, routes, 1));
	for (uint32_t i = 0; i < 5; i++)
		count(&counts, routes, 0, i, 1 + i);
	for (uint32_t i = 0; i < routes->address_count; i++) {
		settler.due = SETTLE_PACKETS - routes->address_count;
		table_counts_settle(&counts, routes, 0, &settler, 1);
		assert_int_equal(settler.next, i + 1);
		assert_int_equal(settler.due, 0);
	}
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(
			count_rows_of(&counts.backends, BACKEND_PACKETS, 0)[routes_backend(routes, 1, i)], 1 + i);
	settler.due = SETTLE_PACKETS - routes->address_count - 1;
	table_counts_settle(&counts, routes, 0, &settler, 1);
	assert_int_equal(settler.next, routes->address_count);
	table_counts_settle(&counts, routes, 0, &settler, 1);
	assert_int_equal(settler.next, 1);
	table_counts_free(&counts);
	routes_free(routes);
}

/* In the new table the second backend is gone, the others are in another order, and one is new. */
static void test_backends_keep_their_counts_by_address(void **state)
{
	static const uint8_t order[] = {4, 9, 0, 3, 2}; /* backends of the old table; 9: a new one */
	struct routes *old_routes = make_routes(5), *routes = make_routes(5);
	struct table_counts old, counts;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		routes->set.tables[1].backends[i].addr.bytes[3] = order[i];
	assert_true(table_counts_alloc(&old, old_routes, 2) && table_counts_alloc(&counts, routes, 2));
	for (uint32_t i = 0; i < 5; i++)
		count(&old, old_routes, i % 2, i, 100 + i);
	settle_all(&old, old_routes, 1);
	for (unsigned turn = 0; turn < 2; turn++) { /* the second turn replaces what the first has written */
		count(&old, old_routes, 0, 0, 1000 * turn);
		count(&old, old_routes, 0, 1, 7 * turn);
		table_counts_carry(&counts, routes, 1, &old, old_routes, 1);
		for (uint32_t i = 0; i < 5; i++)
			assert_counted(&counts, routes, i, i == 1 ? 0 : 100u + order[i] + (i == 2 ? 1000 * turn : 0));
		assert_int_equal(table_counts_table(&counts, routes, 0).packets, 0);
		assert_int_equal(table_counts_table(&counts, routes, 1).packets, 510 + 1007 * turn);
		assert_int_equal(table_counts_table(&counts, routes, 1).bytes, 70 * (510 + 1007 * turn));
	}
	table_counts_free(&old);
	table_counts_free(&counts);
	routes_free(old_routes);
	routes_free(routes);
}

/* All backends of a table are replaced again and again, while workers count. */
static void test_a_table_keeps_the_counts_of_backends_that_are_gone(void **state)
{
	struct routes *routes = make_routes(5), *old_routes;
	struct table_counts counts, old;

	(void)state;
	assert_true(table_counts_alloc(&counts, routes, 2));
	for (uint64_t round = 1; round <= 20; round++) {
		for (uint32_t i = 0; i < 5; i++)
			count(&counts, routes, i % 2, i, 1u << 20);
		old = counts;
		old_routes = routes;
		routes = make_routes(5);
		for (uint32_t i = 0; i < 5; i++)
			routes->set.tables[1].backends[i].addr.bytes[2] = (uint8_t)(100 + round);
		assert_true(table_counts_alloc(&counts, routes, 2));
		table_counts_carry(&counts, routes, 1, &old, old_routes, 1);
		assert_counted(&counts, routes, 0, 0);
		assert_int_equal(table_counts_table(&counts, routes, 1).packets, round * 5 << 20);
		assert_int_equal(table_counts_table(&counts, routes, 1).bytes, 70 * (round * 5 << 20));
		table_counts_free(&old);
		routes_free(old_routes);
	}
	table_counts_free(&counts);
	routes_free(routes);
}

static void set_bind(struct table_counts *counts, uint32_t table, uint32_t bind, uint64_t value)
{
	count_rows_of(&counts->binds, BIND_PACKETS, 0)[table_counts_bind(counts, table, bind)] = value;
	count_rows_of(&counts->binds, BIND_BYTES, 1)[table_counts_bind(counts, table, bind)] = 10 * value;
}

static void assert_bind(const struct table_counts *counts, uint32_t table, uint32_t bind, uint64_t value)
{
	uint32_t at = table_counts_bind(counts, table, bind);

	assert_int_equal(count_rows_sum(&counts->binds, BIND_PACKETS, at), value);
	assert_int_equal(count_rows_sum(&counts->binds, BIND_BYTES, at), 10 * value);
}

static struct routes *make_binds(const char *const *binds)
{
	struct table_set set = {0};

	handmade_table(&set, 3, 2);
	handmade_bind(&set, 0, "10.9.9.9", TABLE_TCP, 80, 80);
	handmade_table(&set, 3, 2);
	for (; *binds; binds++)
		handmade_bind(&set, 1, *binds, TABLE_TCP, 80, 80);
	return handmade_routes(&set);
}

/* Only the first of two equal binds is ever counted, and it stays so. */
static void test_binds_keep_their_counts_by_what_they_match(void **state)
{
	static const char *const old_binds[] = {"10.0.0.1", "10.0.0.0/24", "10.0.0.1", "10.0.0.2", NULL};
	static const char *const new_binds[] = {"10.0.0.3", "10.0.0.1", "10.0.0.1", "10.0.0.0/24", "10.0.0.0/25", NULL};
	struct routes *old_routes = make_binds(old_binds), *routes = make_binds(new_binds);
	struct table_counts old, counts;

	(void)state;
	assert_true(table_counts_alloc(&old, old_routes, 2) && table_counts_alloc(&counts, routes, 2));
	set_bind(&old, 1, 0, 7);
	set_bind(&old, 1, 1, 8);
	set_bind(&old, 1, 3, 9);
	table_counts_carry(&counts, routes, 1, &old, old_routes, 1);
	for (uint32_t i = 0; i < 5; i++)
		assert_bind(&counts, 1, i, (const uint64_t[]){0, 7, 0, 8, 0}[i]);
	assert_bind(&counts, 0, 0, 0);
	table_counts_free(&old);
	table_counts_free(&counts);
	routes_free(old_routes);
	routes_free(routes);
}

static void test_tables_without_backends_have_no_counts(void **state)
{
	struct table_set set = {0};
	struct routes *routes = handmade_routes(&set);
	struct table_counts counts;

	(void)state;
	assert_true(table_counts_alloc(&counts, routes, 128));
	table_counts_free(&counts);
	routes_free(routes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workers_share_no_cache_line),
		cmocka_unit_test(test_tallies_overflow_without_loss),
		cmocka_unit_test(test_tallies_are_settled_long_before_they_overflow),
		cmocka_unit_test(test_a_half_settled_tally_is_read_in_full),
		cmocka_unit_test(test_tallies_are_settled_in_turn),
		cmocka_unit_test(test_backends_keep_their_counts_by_address),
		cmocka_unit_test(test_a_table_keeps_the_counts_of_backends_that_are_gone),
		cmocka_unit_test(test_binds_keep_their_counts_by_what_they_match),
		cmocka_unit_test(test_tables_without_backends_have_no_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
