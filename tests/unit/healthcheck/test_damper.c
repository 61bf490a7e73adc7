/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "healthcheck/config/status_set.h"
#include "healthcheck/core/damper.h"

/*
 * `results` has '+' for passed and '-' for failed, `expected` the verdict after each: h for healthy, u for unhealthy.
 */
static void assert_verdicts(struct damper damper, unsigned up, unsigned down, const char *results, const char *expected)
{
	char verdicts[64] = "";

	for (size_t i = 0; results[i]; i++) {
		enum damper_verdict before = damper.verdict;
		bool changed = damper_step(&damper, results[i] == '+', up, down);

		assert_int_equal(changed, before != damper.verdict);
		verdicts[i] = damper.verdict == DAMPER_HEALTHY ? 'h' : 'u';
	}
	assert_string_equal(verdicts, expected);
}

static void test_first_result_becomes_the_verdict(void **state)
{
	(void)state;
	assert_verdicts((struct damper){0}, 3, 3, "+", "h");
	assert_verdicts((struct damper){0}, 3, 3, "-", "u");
}

static void test_n_results_in_a_row_change_the_verdict(void **state)
{
	(void)state;
	assert_verdicts((struct damper){0}, 3, 3, "+---", "hhhu");
	assert_verdicts((struct damper){0}, 3, 3, "-+++", "uuuh");
}

static void test_both_directions_have_their_own_trigger(void **state)
{
	(void)state;
	assert_verdicts((struct damper){0}, 4, 2, "+--++++", "hhuuuuh");
	assert_verdicts((struct damper){0}, 1, 1, "+-+-", "huhu");
}

static void test_flapping_below_the_trigger_changes_nothing(void **state)
{
	(void)state;
	assert_verdicts((struct damper){0}, 3, 3, "+--+--+--+-+-+", "hhhhhhhhhhhhhh");
}

static void test_verdict_of_an_earlier_run_is_damped(void **state)
{
	(void)state;
	assert_verdicts((struct damper){.verdict = DAMPER_HEALTHY}, 3, 3, "--+---", "hhhhhu");
	assert_verdicts((struct damper){.verdict = DAMPER_UNHEALTHY}, 2, 3, "++", "uh");
}

static void test_panic_below_the_threshold(void **state)
{
	(void)state;
	assert_false(damper_panics(5, 10, 50));
	assert_true(damper_panics(4, 10, 50));
	assert_true(damper_panics(0, 1, 50));
	assert_false(damper_panics(0, 10, 0));
	assert_false(damper_panics(10, 10, 100));
	assert_true(damper_panics(9, 10, 100));
	assert_false(damper_panics(0, 0, 50));
	assert_true(damper_panics(0, UINT32_MAX, 100));
}

static void test_first_write_is_not_held(void **state)
{
	struct damper_hold hold = {.hold_ms = 10000};

	(void)state;
	assert_int_equal(damper_hold_wait(&hold, 5), 0);
	assert_int_equal(damper_hold_wait(&hold, 0), 0);
}

static void test_second_write_waits_for_hold_ms(void **state)
{
	struct damper_hold hold = {.hold_ms = 10000};

	(void)state;
	damper_hold_written(&hold, 1000);
	assert_int_equal(damper_hold_wait(&hold, 1000), 10000);
	assert_int_equal(damper_hold_wait(&hold, 10999), 1);
	assert_int_equal(damper_hold_wait(&hold, 11000), 0);
	assert_int_equal(damper_hold_wait(&hold, 99999), 0);
}

static void test_backoff_doubles_up_to_a_minute(void **state)
{
	static const unsigned seconds[] = {1, 2, 4, 8, 16, 32, 60, 60};

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(damper_backoff_ms(i + 1), seconds[i] * 1000);
	assert_int_equal(damper_backoff_ms(UINT32_MAX), 60000);
}

static void test_status_sets(void **state)
{
	static const char *const bad[] = {
		"", "20", "2000", "200-", "299-200", "200,", "99", "600", "ok", "200;204", "-200"};
	struct status_set set;

	(void)state;
	assert_true(status_set_parse("200-203, 304", &set));
	assert_true(status_set_has(&set, 200) && status_set_has(&set, 203));
	assert_true(status_set_has(&set, 304));
	assert_false(status_set_has(&set, 204) || status_set_has(&set, 199));
	assert_false(status_set_has(&set, 0) || status_set_has(&set, 1000));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(status_set_parse(bad[i], &set));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_result_becomes_the_verdict),
		cmocka_unit_test(test_n_results_in_a_row_change_the_verdict),
		cmocka_unit_test(test_both_directions_have_their_own_trigger),
		cmocka_unit_test(test_flapping_below_the_trigger_changes_nothing),
		cmocka_unit_test(test_verdict_of_an_earlier_run_is_damped),
		cmocka_unit_test(test_panic_below_the_threshold),
		cmocka_unit_test(test_first_write_is_not_held),
		cmocka_unit_test(test_second_write_waits_for_hold_ms),
		cmocka_unit_test(test_backoff_doubles_up_to_a_minute),
		cmocka_unit_test(test_status_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
