/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/rows/table_rows_isa.h"

static void wrong_rows(const struct table_rows_job *job, uint32_t first, uint32_t end)
{
	uint16_t *last = &job->rows[end * job->row_hops - 1];

	table_rows_plain(job, first, end);
	*last = (uint16_t)(*last + 1);
}

static void wrong_rows_of_two_hops(const struct table_rows_job *job, uint32_t first, uint32_t end)
{
	(job->row_hops == 2 ? wrong_rows : table_rows_plain)(job, first, end);
}

static void wrong_weighted_rows(const struct table_rows_job *job, uint32_t first, uint32_t end)
{
	struct table_rows_job unweighted = *job;

	unweighted.weighted = false;
	table_rows_plain(&unweighted, first, end);
}

static void wrong_scores(const uint8_t *seed, const uint64_t *words, uint32_t count, uint32_t first,
	uint64_t (*scores)[TABLE_ROWS_BLOCK])
{
	table_scores_plain(seed, words, count, first, scores);
	scores[count - 1][TABLE_ROWS_BLOCK - 1] ^= 1;
}

static void test_each_isa_of_this_cpu_is_right(void **state)
{
	(void)state;
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++)
		if (isa_usable(isa))
			assert_true(table_rows_same_as_plain(table_rows_by_isa[isa], table_scores_by_isa[isa]));
	assert_int_equal(table_rows_isa(), isa_widest());
}

static void test_wrong_results_are_found(void **state)
{
	(void)state;
	assert_false(table_rows_same_as_plain(wrong_rows, table_scores_plain));
	assert_false(table_rows_same_as_plain(wrong_rows_of_two_hops, table_scores_plain));
	assert_false(table_rows_same_as_plain(wrong_weighted_rows, table_scores_plain));
	assert_false(table_rows_same_as_plain(table_rows_plain, wrong_scores));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_isa_of_this_cpu_is_right),
		cmocka_unit_test(test_wrong_results_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
