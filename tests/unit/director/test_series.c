/* SPDX-License-Identifier: BSD-3-Clause */
/* The rates of a counter in a ring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "director/page/series.h"

static struct series series;
static float rates[SERIES_SAMPLES];

static int begin(void **state)
{
	(void)state;
	series_clear(&series);
	return 0;
}

static void test_first_value_gives_no_rate(void **state)
{
	(void)state;
	assert_int_equal(series_copy(&series, 0, rates), 0);
	series_add(&series, 0, 1000, 0);
	assert_int_equal(series_copy(&series, 0, rates), 0);
	series_add(&series, 1, 1500, 5);
	assert_int_equal(series_copy(&series, 1, rates), 1);
	assert_true(rates[0] == 100);
}

static void test_counter_that_was_cleared_gives_no_rate(void **state)
{
	(void)state;
	series_add(&series, 0, 1000, 0);
	series_add(&series, 1, 10, 5);
	assert_int_equal(series_copy(&series, 1, rates), 0);
	series_add(&series, 2, 20, 5);
	assert_int_equal(series_copy(&series, 2, rates), 1);
	assert_true(rates[0] == 2);
}

static void test_ring_has_the_newest_rates_oldest_first(void **state)
{
	const unsigned samples = 3 * SERIES_SAMPLES + 7;
	uint64_t value = 0;

	(void)state;
	for (unsigned i = 0; i < samples; i++)
		series_add(&series, i % SERIES_SAMPLES, value += i, 1);
	assert_int_equal(series_copy(&series, (samples - 1) % SERIES_SAMPLES, rates), SERIES_SAMPLES);
	for (unsigned i = 0; i < SERIES_SAMPLES; i++)
		assert_true(rates[i] == (float)(samples - SERIES_SAMPLES + i));
}

static void test_clear_forgets_the_last_value(void **state)
{
	(void)state;
	series_add(&series, 0, 1, 0);
	series_add(&series, 1, 2, 1);
	series_clear(&series);
	series_add(&series, 2, UINT64_MAX, 1);
	assert_int_equal(series_copy(&series, 2, rates), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_first_value_gives_no_rate, begin),
		cmocka_unit_test_setup(test_counter_that_was_cleared_gives_no_rate, begin),
		cmocka_unit_test_setup(test_ring_has_the_newest_rates_oldest_first, begin),
		cmocka_unit_test_setup(test_clear_forgets_the_last_value, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
