/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "health/damper.h"
#include "health/status_set.h"
#include "vectors.h"

/*
 * `results` has '+' for passed and '-' for failed, `expected` the verdict after each: h for healthy, u for unhealthy.
 */
static void assert_verdicts(struct damper damper, unsigned up, unsigned down, const char *results, const char *expected)
{
	const struct damper_rule rule = {.trigger_healthy = up, .trigger_unhealthy = down};
	char verdicts[64] = "";

	for (size_t i = 0; results[i]; i++) {
		enum damper_verdict before = damper.verdict;
		bool changed = damper_step(&damper, results[i] == '+', &rule, i);

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

/* A rule for one result per second: 2 results change the verdict, and the hold is 4 s, 8 s, and at most 12 s. */
static const struct damper_rule holding = {
	.trigger_healthy = 2, .trigger_unhealthy = 2, .hold_ms = 4000, .hold_max_ms = 12000};

/* Adds results until the verdict changes. Returns how many milliseconds that took, or 0 if it did not within an hour. */
static uint64_t change(struct damper *damper, bool passed, uint64_t *now)
{
	for (uint64_t start = *now; *now < start + 3600000;) {
		*now += 1000;
		if (damper_step(damper, passed, &holding, *now))
			return *now - start;
	}
	return 0;
}

static void test_unhealthy_verdict_is_held_and_healthy_one_is_not(void **state)
{
	struct damper damper = {.verdict = DAMPER_HEALTHY};
	uint64_t now = 1000000;

	(void)state;
	assert_int_equal(change(&damper, false, &now), 2000);
	assert_int_equal(damper_held_ms(&damper, now), 4000);
	assert_int_equal(change(&damper, true, &now), 4000);
	assert_int_equal(damper_held_ms(&damper, now), 0);
	assert_int_equal(change(&damper, false, &now), 2000); /* leaves as fast as the first time */
}

static void test_first_result_and_saved_verdict_are_not_held(void **state)
{
	struct damper unknown = {0}, saved = {.verdict = DAMPER_UNHEALTHY};
	uint64_t now = 0;

	(void)state;
	assert_int_equal(change(&unknown, false, &now), 1000);
	assert_int_equal(change(&unknown, true, &now), 2000);
	now = 0;
	assert_int_equal(change(&saved, true, &now), 2000);
}

static void test_failure_during_the_hold_starts_the_streak_again(void **state)
{
	struct damper damper = {.verdict = DAMPER_HEALTHY};
	uint64_t now = 0;

	(void)state;
	change(&damper, false, &now);
	for (int i = 0; i < 3; i++)
		assert_false(damper_step(&damper, true, &holding, now += 1000));
	assert_false(damper_step(&damper, false, &holding, now += 1000)); /* the hold is over now */
	assert_int_equal(change(&damper, true, &now), 2000);
}

static void test_hold_grows_while_the_check_flaps(void **state)
{
	static const uint64_t holds[] = {4000, 8000, 12000, 12000, 12000};
	struct damper damper = {.verdict = DAMPER_HEALTHY};
	uint64_t now = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++) {
		assert_int_equal(change(&damper, false, &now), 2000);
		assert_int_equal(change(&damper, true, &now), holds[i]);
	}
	assert_int_equal(damper.flaps, 2);
	now += DAMPER_CALM * 12000 - 3000; /* healthy for a moment less than what counts as calm */
	change(&damper, false, &now);
	assert_int_equal(damper_held_ms(&damper, now), 12000);
	change(&damper, true, &now);
	now += DAMPER_CALM * 12000 - 2000;
	change(&damper, false, &now);
	assert_int_equal(damper.flaps, 0);
	assert_int_equal(damper_held_ms(&damper, now), 4000);
}

static void test_no_hold_and_no_flaps_without_hold_ms(void **state)
{
	const struct damper_rule rule = {.trigger_healthy = 1, .trigger_unhealthy = 1, .hold_max_ms = 600000};
	struct damper damper = {.verdict = DAMPER_HEALTHY};

	(void)state;
	for (uint64_t now = 0; now < 10; now++)
		assert_true(damper_step(&damper, now % 2, &rule, now));
	assert_int_equal(damper.flaps, 0);
}

static void test_streak_does_not_overflow_in_a_long_hold(void **state)
{
	const struct damper_rule rule = {
		.trigger_healthy = 2, .trigger_unhealthy = 1, .hold_ms = UINT32_MAX, .hold_max_ms = UINT32_MAX};
	struct damper damper = {.verdict = DAMPER_HEALTHY, .flaps = UINT32_MAX};

	(void)state;
	assert_true(damper_step(&damper, false, &rule, 0));
	for (int i = 0; i < 100; i++)
		assert_false(damper_step(&damper, true, &rule, 0));
	assert_int_equal(damper.streak, 2);
	assert_true(damper_step(&damper, true, &rule, UINT32_MAX));
}

static void test_only_failures_of_healthy_checks_waver(void **state)
{
	(void)state;
	assert_true(damper_wavers(&(struct damper){.verdict = DAMPER_HEALTHY, .streak = 1}));
	assert_false(damper_wavers(&(struct damper){.verdict = DAMPER_HEALTHY}));
	assert_false(damper_wavers(&(struct damper){.verdict = DAMPER_UNHEALTHY, .streak = 1}));
	assert_false(damper_wavers(&(struct damper){0}));
}

static const struct check_timing timing = {
	.interval_ms = 2000, .timeout_ms = 1000, .trigger_healthy = 3, .trigger_unhealthy = 3};

static void test_change_is_written_at_once_if_no_other_check_wavers(void **state)
{
	struct damper_batch batch = {0};

	(void)state;
	damper_batch_add(&batch, &timing, true, 1000);
	assert_int_equal(damper_batch_wait(&batch, false, 1000), 0);
}

static void test_change_waits_for_checks_that_waver_but_not_longer_than_the_window(void **state)
{
	struct damper_batch batch = {0};

	(void)state;
	damper_batch_add(&batch, &timing, true, 1000);
	assert_int_equal(damper_batch_wait(&batch, true, 1000), 3000);
	damper_batch_add(&batch, &timing, true, 2500); /* does not make it longer */
	assert_int_equal(damper_batch_wait(&batch, true, 2500), 1500);
	assert_int_equal(damper_batch_wait(&batch, false, 2500), 0);
	assert_int_equal(damper_batch_wait(&batch, true, 4000), 0);
	assert_int_equal(damper_batch_wait(&batch, true, 9000), 0);
}

static void test_recovery_waits_for_the_window_unless_a_failure_joins(void **state)
{
	struct damper_batch batch = {0};

	(void)state;
	damper_batch_add(&batch, &timing, false, 1000);
	assert_int_equal(damper_batch_wait(&batch, false, 1000), 3000);
	damper_batch_add(&batch, &timing, true, 2000);
	assert_int_equal(damper_batch_wait(&batch, false, 2000), 0);
}

static void test_writes_are_one_window_apart(void **state)
{
	struct damper_batch batch = {0};

	(void)state;
	damper_batch_add(&batch, &timing, true, 1000);
	damper_batch_written(&batch, 1000);
	assert_false(batch.open);
	damper_batch_add(&batch, &timing, true, 1500);
	assert_int_equal(damper_batch_wait(&batch, false, 1500), 2500);
	assert_int_equal(damper_batch_wait(&batch, false, 4000), 0);
}

#define PROXIES 10
#define STEP_MS 10

/* A check of a proxy that dies at time 0: its first failed probe starts at `due`, and each result takes latency_ms. */
struct dying {
	struct damper damper;
	unsigned due, latency_ms;
};

/*
 * Four of ten proxies die at the same time. Their probes are spread over an interval. Returns the number of writes until
 * a minute later, and when the last one of them was.
 */
static unsigned writes_after_a_failure(const struct check_timing *with, struct dying dying[4], unsigned *last)
{
	const struct damper_rule rule = {.trigger_unhealthy = with->trigger_unhealthy, .trigger_healthy = 1};
	struct damper_batch batch = {0};
	unsigned writes = 0;

	for (unsigned now = 0; now < 60000; now += STEP_MS) {
		unsigned wavering = 0;

		for (int i = 0; i < 4; i++) {
			if (now == dying[i].due + dying[i].latency_ms) {
				if (damper_step(&dying[i].damper, false, &rule, now))
					damper_batch_add(&batch, with, true, now);
				dying[i].due += with->interval_ms;
			}
			wavering += damper_wavers(&dying[i].damper);
		}
		if (!batch.open || damper_batch_wait(&batch, wavering, now))
			continue;
		damper_batch_written(&batch, now);
		writes++;
		*last = now;
	}
	return writes;
}

/* All triggers, all phases of the four probes among ten, and each mix of proxies that refuse and that are silent. */
static void test_proxies_that_fail_within_one_interval_leave_in_one_write(void **state)
{
	(void)state;
	for (unsigned trigger = 1; trigger <= 5; trigger++)
		for (unsigned mask = 0; mask < 1 << PROXIES; mask++)
			for (unsigned silent = 0; __builtin_popcount(mask) == 4 && silent < 16; silent++) {
				struct check_timing with = {
					.interval_ms = 2000, .timeout_ms = 1000, .trigger_unhealthy = trigger};
				struct dying dying[4];
				unsigned last = 0, count = 0;

				for (unsigned i = 0; i < PROXIES; i++)
					if (mask >> i & 1) {
						dying[count] = (struct dying){.damper.verdict = DAMPER_HEALTHY,
							.due = 2000 * i / PROXIES,
							.latency_ms = silent >> count & 1 ? 1000 : 0};
						count++;
					}
				assert_int_equal(writes_after_a_failure(&with, dying, &last), 1);
				assert_true(last <= trigger * 2000 + 1000 + 3000);
			}
}

static void test_window_of_slow_checks_is_limited(void **state)
{
	const struct check_timing slow = {.interval_ms = 3600000, .timeout_ms = 3600000};
	struct damper_batch batch = {0};

	(void)state;
	damper_batch_add(&batch, &slow, false, 1000);
	assert_int_equal(damper_batch_wait(&batch, true, 1000), DAMPER_WINDOW_MAX_MS);
}

static json_int_t integer_at(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

static void assert_results(struct damper *damper, const struct damper_rule *rule, const json_t *results)
{
	const json_t *result;
	size_t i;

	json_array_foreach(results, i, result)
	{
		uint64_t now = (uint64_t)integer_at(result, 0);

		damper_step(damper, json_is_true(json_array_get(result, 1)), rule, now);
		assert_int_equal(damper->verdict == DAMPER_HEALTHY, json_is_true(json_array_get(result, 2)));
		assert_int_equal(damper->flaps, integer_at(result, 3));
		assert_int_equal(damper_held_ms(damper, now), integer_at(result, 4));
	}
}

static void test_verdicts_are_those_of_the_model(void **state)
{
	json_t *cases = vectors_load("damper.json"), *one;
	size_t i;

	(void)state;
	assert_true(json_array_size(cases) >= 22);
	json_array_foreach(cases, i, one)
	{
		const json_t *rule = vectors_get(one, "rule");
		struct damper damper = {0};

		while (strcmp(damper_name(damper.verdict), vectors_string(one, "first")) != 0)
			damper.verdict++;
		assert_results(&damper,
			&(struct damper_rule){(unsigned)integer_at(rule, 0), (unsigned)integer_at(rule, 1),
				(unsigned)integer_at(rule, 2), (unsigned)integer_at(rule, 3)},
			vectors_get(one, "results"));
	}
	json_decref(cases);
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
		cmocka_unit_test(test_unhealthy_verdict_is_held_and_healthy_one_is_not),
		cmocka_unit_test(test_first_result_and_saved_verdict_are_not_held),
		cmocka_unit_test(test_failure_during_the_hold_starts_the_streak_again),
		cmocka_unit_test(test_hold_grows_while_the_check_flaps),
		cmocka_unit_test(test_no_hold_and_no_flaps_without_hold_ms),
		cmocka_unit_test(test_streak_does_not_overflow_in_a_long_hold),
		cmocka_unit_test(test_only_failures_of_healthy_checks_waver),
		cmocka_unit_test(test_change_is_written_at_once_if_no_other_check_wavers),
		cmocka_unit_test(test_change_waits_for_checks_that_waver_but_not_longer_than_the_window),
		cmocka_unit_test(test_recovery_waits_for_the_window_unless_a_failure_joins),
		cmocka_unit_test(test_writes_are_one_window_apart),
		cmocka_unit_test(test_proxies_that_fail_within_one_interval_leave_in_one_write),
		cmocka_unit_test(test_window_of_slow_checks_is_limited),
		cmocka_unit_test(test_verdicts_are_those_of_the_model),
		cmocka_unit_test(test_backoff_doubles_up_to_a_minute),
		cmocka_unit_test(test_status_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
