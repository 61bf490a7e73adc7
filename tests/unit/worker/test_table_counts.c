/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of backends and binds: one row per worker, no shared cache lines, and what a reload keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/handmade.h"
#include "worker/table_counts.h"

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
		assert_int_equal((uintptr_t)count_rows_of(&counts.backends, BACKEND_FORWARDED, worker) % 64, 0);
		assert_true(counts.backends.stride >= routes->address_count);
		for (uint32_t i = 0; i < routes->address_count; i++)
			count_rows_of(&counts.backends, BACKEND_FORWARDED, worker)[i] += 1 + worker + i;
	}
	for (uint32_t i = 0; i < routes->address_count; i++)
		assert_int_equal(count_rows_sum(&counts.backends, BACKEND_FORWARDED, i), 6 + 3 * i);
	table_counts_free(&counts);
	routes_free(routes);
}

static uint64_t sum_of(const struct table_counts *counts, const struct routes *routes, uint32_t table, uint32_t backend)
{
	return count_rows_sum(&counts->backends, BACKEND_FORWARDED, routes_backend(routes, table, backend));
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
		count_rows_of(&old.backends, BACKEND_FORWARDED, i % 2)[routes_backend(old_routes, 1, i)] = 100 + i;
	for (unsigned turn = 0; turn < 2; turn++) { /* the second turn replaces what the first has written */
		count_rows_of(&old.backends, BACKEND_FORWARDED, 0)[routes_backend(old_routes, 1, 0)] += 1000 * turn;
		table_counts_carry(&counts, routes, 1, &old, old_routes, 1);
		for (uint32_t i = 0; i < 5; i++)
			assert_int_equal(sum_of(&counts, routes, 1, i),
				i == 1 ? 0 : 100u + order[i] + (i == 2 ? 1000 * turn : 0));
		assert_int_equal(sum_of(&counts, routes, 0, 0), 0);
	}
	table_counts_free(&old);
	table_counts_free(&counts);
	routes_free(old_routes);
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
		cmocka_unit_test(test_backends_keep_their_counts_by_address),
		cmocka_unit_test(test_binds_keep_their_counts_by_what_they_match),
		cmocka_unit_test(test_tables_without_backends_have_no_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
