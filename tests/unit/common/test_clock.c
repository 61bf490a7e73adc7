/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/clock.h"

static void test_the_clock_is_monotonic_in_every_unit(void **state)
{
	uint64_t ns = clock_now_ns(), us = clock_now_us(), ms = clock_now_ms(), later = clock_now_ns();

	(void)state;
	assert_in_range(us, ns / 1000, later / 1000);
	assert_in_range(ms, ns / 1000000, later / 1000000);
	assert_true(later >= ns);
}

static void test_the_coarse_clock_is_the_same_clock(void **state)
{
	uint64_t before = clock_now_ns(), coarse = clock_coarse_ns(), after = clock_now_ns();

	(void)state;
	assert_in_range(coarse, before - CLOCK_NS_PER_S, after);
}

static void test_a_timespec_splits_off_whole_seconds(void **state)
{
	struct timespec time = clock_timespec(3000005);

	(void)state;
	assert_int_equal(time.tv_sec, 3);
	assert_int_equal(time.tv_nsec, 5000);
	assert_int_equal(clock_timespec(0).tv_sec, 0);
	assert_int_equal(clock_timespec(999999).tv_nsec, 999999000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_clock_is_monotonic_in_every_unit),
		cmocka_unit_test(test_the_coarse_clock_is_the_same_clock),
		cmocka_unit_test(test_a_timespec_splits_off_whole_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
