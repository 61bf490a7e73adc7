/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "table/rows/table_weight.h"

#define UNIT (UINT64_C(1) << 40)

/* A score of which 1 - score / 2^64 is (1 + i / 256) / 2. */
static uint64_t score_of_knot(uint64_t i)
{
	return ~((256 + i) << 55);
}

static void test_keys_at_the_knots_are_logarithms(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 256; i++) {
		uint64_t logarithm = (uint64_t)(log2l(1 + (long double)i / 256) * UNIT);

		assert_int_equal(table_weight_key(score_of_knot(i), 1), UNIT - logarithm);
	}
	assert_int_equal(table_weight_key(0, 1), 2); /* a little above the last knot, whose key would be 0 */
}

static void test_a_heavier_backend_has_a_lower_key(void **state)
{
	(void)state;
	assert_int_equal(table_weight_key(score_of_knot(0), 100), UNIT / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_at_the_knots_are_logarithms),
		cmocka_unit_test(test_a_heavier_backend_has_a_lower_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
