/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "worker/poll_gaps.h"

#define HZ UINT64_C(3000000000)
#define US (HZ / 1000000)

static struct poll_gaps gaps;
static struct poll_gaps_report report;
static uint64_t now, polls;

static int reset(void **state)
{
	(void)state;
	now = 12345;
	polls = 5;
	gaps = (struct poll_gaps){0};
	poll_gaps_begin(&gaps, now, polls, HZ);
	return 0;
}

static void iterate(uint64_t ticks, uint32_t packets)
{
	now += ticks;
	polls++;
	if (poll_gaps_due(polls, packets))
		poll_gaps_take(&gaps, now, polls, packets);
	poll_gaps_read(&gaps, HZ, &report);
}

static void test_each_gap_is_in_the_bucket_of_its_bound(void **state)
{
	(void)state;
	for (unsigned i = 0; i < POLL_GAPS_BOUNDS; i++) {
		iterate((US << i) * 3 / 4, 0);
		assert_int_equal(report.counts[i], 1);
		assert_true((double)((US << i) * 3 / 4) / (double)HZ < poll_gaps_bounds[i]);
	}
	iterate(2 * HZ, 0);
	iterate(3600 * HZ, 0);
	assert_int_equal(report.counts[POLL_GAPS_BOUNDS], 2);
	iterate(0, 0);
	assert_int_equal(report.counts[0], 2);
}

static void test_sum_is_the_time_that_passed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		iterate(HZ / 4, (i + 1) % 2);
	assert_float_equal(report.seconds, 2, 1e-9);
}

static void test_packets_keep_an_lcore_busy_for_their_iteration_and_the_next(void **state)
{
	(void)state;
	iterate(HZ, 0);
	assert_float_equal(report.busy_seconds, 0, 1e-9);
	iterate(HZ, 1);
	iterate(HZ, 0);
	assert_float_equal(report.busy_seconds, 2, 1e-9);
	for (unsigned i = 0; i < POLL_GAPS_ITERATIONS; i++)
		iterate(HZ, 64);
	iterate(HZ, 0); /* works on the last packets */
	assert_float_equal(report.busy_seconds, 3 + POLL_GAPS_ITERATIONS, 1e-9);
	iterate(HZ, 0);
	assert_float_equal(report.busy_seconds, 3 + POLL_GAPS_ITERATIONS, 1e-9);
}

/* Whatever the pattern of packets and of the time that iterations take. */
static void test_busy_time_is_that_of_each_busy_iteration(void **state)
{
	uint64_t random = 1, all = 0, busy = 0;
	uint32_t before = 0;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t ticks;
		uint32_t packets;

		random = random * 6364136223846793005u + 1442695040888963407u;
		ticks = 1000 + (random >> 40) % 100000;
		packets = random >> 62 ? (uint32_t)(random >> 20 & 63) : 0;
		iterate(ticks, packets);
		all += ticks;
		busy += packets || before ? ticks : 0;
		before = packets;
	}
	iterate(0, 0); /* reads what is left */
	assert_int_equal(gaps.ticks, all);
	assert_int_equal(gaps.busy_ticks, busy);
}

static void test_a_stall_in_any_iteration_is_in_its_bucket(void **state)
{
	(void)state;
	for (uint32_t packets = 0; packets < 2; packets++) {
		for (unsigned stalled = 0; stalled < 2 * POLL_GAPS_ITERATIONS; stalled++) {
			reset(NULL);
			for (unsigned i = 0; i < 3 * POLL_GAPS_ITERATIONS; i++)
				iterate(i == stalled ? 3000 * US : US / 100, packets);
			for (unsigned i = 1; i <= POLL_GAPS_BOUNDS; i++)
				assert_int_equal(report.counts[i], i == 12); /* 2.048 to 4.096 ms */
		}
	}
}

static void test_sleep_is_no_gap(void **state)
{
	(void)state;
	iterate(US / 2, 0);
	now += HZ;
	poll_gaps_skip(&gaps, now);
	iterate(US / 2, 0);
	assert_int_equal(report.counts[0], 2);
	assert_float_equal(report.seconds, 1e-6, 1e-9);
	iterate(3 * US, 0);
	assert_int_equal(report.counts[2], 1);
}

static void test_slow_counter_of_arm64(void **state)
{
	(void)state;
	poll_gaps_begin(&gaps, now, polls, 25000000);
	now += 25 * 3; /* 3 us */
	poll_gaps_take(&gaps, now, polls + 1, 0);
	poll_gaps_read(&gaps, 25000000, &report);
	assert_int_equal(report.counts[2], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_gap_is_in_the_bucket_of_its_bound, reset),
		cmocka_unit_test_setup(test_sum_is_the_time_that_passed, reset),
		cmocka_unit_test_setup(test_packets_keep_an_lcore_busy_for_their_iteration_and_the_next, reset),
		cmocka_unit_test_setup(test_busy_time_is_that_of_each_busy_iteration, reset),
		cmocka_unit_test_setup(test_a_stall_in_any_iteration_is_in_its_bucket, reset),
		cmocka_unit_test_setup(test_sleep_is_no_gap, reset),
		cmocka_unit_test_setup(test_slow_counter_of_arm64, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
