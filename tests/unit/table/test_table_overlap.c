/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/table_lint.h"
#include "table/table_overlap.h"
#include "tests/unit/table_helpers.h"

static bool overlap(const struct table_bind *a, const struct table_bind *b)
{
	return a->protocol == b->protocol && a->port_start <= b->port_end && b->port_start <= a->port_end &&
	       prefixes_overlap(&a->prefix, &b->prefix);
}

/* Returns true if the bind overlaps an earlier one: one of a lower table, or one before it in its own table. */
static bool loses(const struct table_set *set, uint32_t table, uint32_t bind)
{
	const struct table_bind *loser = &set->tables[table].binds[bind];

	for (uint32_t t = 0; t <= table; t++)
		for (uint32_t i = 0; i < (t < table ? set->tables[t].bind_count : bind); i++)
			if (overlap(&set->tables[t].binds[i], loser))
				return true;
	return false;
}

/* Uses few prefixes and ports, so that all kinds of overlaps occur. */
static void narrow(struct table_bind *bind)
{
	if (bind->prefix.addr.family == NETADDR_V4)
		bind->prefix.length = (uint8_t)random_below(5) * 8;
	else
		bind->prefix.length = (uint8_t)random_below(4);
	for (int i = 0; i < 16; i++)
		bind->prefix.addr.bytes[i] &= bind->prefix.addr.family == NETADDR_V4 ? 1 : 0xff;
	netprefix_mask(bind->prefix.addr.bytes, netaddr_size(&bind->prefix.addr), bind->prefix.length);
	bind->port_start = (uint16_t)(random_below(2) ? random_below(20) : 65500 + random_below(36));
	bind->port_end = (uint16_t)(bind->port_start + random_below(random_below(2) ? 1 : 65536u - bind->port_start));
}

static void compare_with_all_pairs(const struct table_set *set)
{
	struct table_overlap *overlaps;
	size_t count, next = 0;

	assert_int_equal(table_overlaps(set, &overlaps, &count), 0);
	for (uint32_t t = 0; t < set->count; t++) {
		for (uint32_t i = 0; i < set->tables[t].bind_count; i++) {
			const struct table_overlap *found = &overlaps[next];
			bool listed = next < count && found->loser_table == t && found->loser_bind == i;

			assert_int_equal(listed, loses(set, t, i));
			if (!listed)
				continue;
			assert_true(found->winner_table < t || (found->winner_table == t && found->winner_bind < i));
			assert_true(overlap(
				&set->tables[found->winner_table].binds[found->winner_bind], &set->tables[t].binds[i]));
			next++;
		}
	}
	assert_int_equal(next, count);
	free(overlaps);
}

static void test_the_sweep_equals_a_comparison_of_all_pairs(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 600; round++) {
		struct table_set set = random_set(random_below(5));

		for (uint32_t t = 0; t < set.count; t++) {
			random_table(&set.tables[t], 1, random_below(round < 300 ? 5 : 25), 2, round % 3, ALL_GOOD);
			for (uint32_t i = 0; i < set.tables[t].bind_count; i++)
				narrow(&set.tables[t].binds[i]);
		}
		compare_with_all_pairs(&set);
		table_set_free(&set);
	}
}

/* With a quadratic algorithm, this test would take minutes. */
static void test_262144_equal_binds_take_no_quadratic_time(void **state)
{
	struct table_set set = random_set(64);
	struct table_overlap *overlaps;
	size_t count;

	(void)state;
	for (uint32_t t = 0; t < set.count; t++) {
		random_table(&set.tables[t], 1, TABLE_MAX_BINDS, 2, NETADDR_V4, ALL_GOOD);
		for (uint32_t i = 0; i < set.tables[t].bind_count; i++)
			set.tables[t].binds[i] = set.tables[0].binds[0];
	}
	assert_int_equal(table_overlaps(&set, &overlaps, &count), 0);
	assert_int_equal(count, 64 * TABLE_MAX_BINDS - 1);
	free(overlaps);
	table_set_free(&set);
}

static void test_each_table_has_a_limited_number_of_overlap_warnings(void **state)
{
	struct table_set set = random_set(2);
	struct faults faults = {.file = "f"};

	(void)state;
	for (uint32_t t = 0; t < set.count; t++) {
		random_table(&set.tables[t], 1, 100, 2, NETADDR_V4, ALL_GOOD);
		for (uint32_t i = 0; i < set.tables[t].bind_count; i++)
			set.tables[t].binds[i] = set.tables[0].binds[0];
		set.tables[t].name[0] = (char)('a' + t);
		set.tables[t].backends[0].addr.bytes[0] = 10; /* makes it a valid proxy address */
	}
	table_lint(&set, &faults);
	assert_int_equal(faults.count, 2 * (TABLE_LINT_MAX + 1));
	assert_fault(&faults, true, "f: tables[0].binds: 89 more binds overlap earlier ones");
	assert_fault(&faults, true, "f: tables[1].binds: 90 more binds overlap earlier ones");
	faults_clear(&faults);
	set.tables[0].bind_count = TABLE_LINT_MAX + 1;
	set.tables[1].bind_count = TABLE_LINT_MAX;
	table_lint(&set, &faults);
	assert_int_equal(faults.count, 2 * TABLE_LINT_MAX);
	faults_clear(&faults);
	table_set_free(&set);
}

static void test_a_set_without_binds_has_no_overlaps(void **state)
{
	struct table_set set = random_set(0);
	struct table_overlap *overlaps;
	size_t count;

	(void)state;
	assert_int_equal(table_overlaps(&set, &overlaps, &count), 0);
	assert_int_equal(count, 0);
	free(overlaps);
	table_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_sweep_equals_a_comparison_of_all_pairs),
		cmocka_unit_test(test_262144_equal_binds_take_no_quadratic_time),
		cmocka_unit_test(test_each_table_has_a_limited_number_of_overlap_warnings),
		cmocka_unit_test(test_a_set_without_binds_has_no_overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
