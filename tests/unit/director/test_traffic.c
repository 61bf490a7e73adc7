/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "director/reload/traffic.h"

#define START 5000u /* ms */

static void test_a_table_without_packets_has_no_traffic(void **state)
{
	struct traffic traffic = {0};

	(void)state;
	assert_false(traffic_is_recent(&traffic, 0));
	traffic_sample(&traffic, 0, START);
	assert_false(traffic_is_recent(&traffic, START));
}

static void test_traffic_is_recent_for_a_minute_after_the_last_packet(void **state)
{
	struct traffic traffic = {0};

	(void)state;
	traffic_sample(&traffic, 1, START);
	traffic_sample(&traffic, 1, START + 1000);
	assert_true(traffic_is_recent(&traffic, START + TRAFFIC_RECENT_MS));
	assert_false(traffic_is_recent(&traffic, START + TRAFFIC_RECENT_MS + 1));
	traffic_sample(&traffic, 2, START + 2 * TRAFFIC_RECENT_MS);
	assert_true(traffic_is_recent(&traffic, START + 3 * TRAFFIC_RECENT_MS));
}

static void test_a_packet_at_time_zero_counts(void **state)
{
	struct traffic traffic = {0};

	(void)state;
	traffic_sample(&traffic, 1, 0);
	assert_true(traffic_is_recent(&traffic, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_table_without_packets_has_no_traffic),
		cmocka_unit_test(test_traffic_is_recent_for_a_minute_after_the_last_packet),
		cmocka_unit_test(test_a_packet_at_time_zero_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
