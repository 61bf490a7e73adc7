/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/decision.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct decision_rule rule = {
	.damper = {.trigger_healthy = 3, .trigger_unhealthy = 2, .hold_ms = 1000, .hold_max_ms = 4000}};

static enum decision_verdict feed(
	struct decision *decision, const char *answers, const struct decision_rule *with, uint64_t *now_ms)
{
	static const char letters[] = {
		[ANSWER_GOOD] = '+', [ANSWER_BAD] = '-', [ANSWER_GONE] = '!', [ANSWER_SILENT] = '~'};

	for (; *answers; answers++, *now_ms += 10)
		decision_feed(decision, (enum answer)((const char *)memchr(letters, *answers, sizeof(letters)) - letters),
			answers, with, *now_ms);
	return decision->verdict;
}

static void test_first_verdict_needs_as_many_answers_as_the_rule_says(void **state)
{
	static const struct {
		const char *answers;
		enum decision_verdict verdict;
	} cases[] = {
		{"", DECISION_NONE},
		{"++", DECISION_NONE},
		{"+++", DECISION_GOOD},
		{"-", DECISION_NONE},
		{"-+-+-+", DECISION_NONE},
		{"--", DECISION_BAD},
		{"++--", DECISION_BAD},
		{"~", DECISION_NONE},
		{"~~", DECISION_BAD},
		{"!", DECISION_BAD},
		{"++!", DECISION_BAD},
		{"!+++", DECISION_GOOD},
		{"--++", DECISION_BAD},
		{"+++-", DECISION_GOOD},
		{"+++--", DECISION_BAD},
		{"+++-+-+-", DECISION_GOOD},
		{"+++!", DECISION_BAD},
		{"+++-~", DECISION_BAD},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct decision decision = {0};
		uint64_t now_ms = 5000;

		if (feed(&decision, cases[i].answers, &rule, &now_ms) != cases[i].verdict)
			fail_msg("%s: verdict %d", cases[i].answers, (int)decision.verdict);
	}
}

static void test_static_rule_ignores_silence_but_not_the_end_of_the_director(void **state)
{
	struct decision_rule fail_static = rule;
	struct decision decision = {0};
	uint64_t now_ms = 5000;

	(void)state;
	fail_static.fail_static = true;
	assert_int_equal(feed(&decision, "~~~~", &fail_static, &now_ms), DECISION_NONE);
	assert_int_equal(feed(&decision, "+++~~~~", &fail_static, &now_ms), DECISION_GOOD);
	assert_int_equal(feed(&decision, "-~~-", &fail_static, &now_ms), DECISION_BAD);
	now_ms += 10000;
	assert_int_equal(feed(&decision, "+~+~+!", &fail_static, &now_ms), DECISION_BAD);
}

static void test_hold_doubles_while_it_flaps(void **state)
{
	static const uint64_t holds[] = {1000, 2000, 4000, 4000};
	struct decision decision = {0};
	uint64_t now_ms = 5000;

	(void)state;
	feed(&decision, "+++", &rule, &now_ms);
	for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++) {
		feed(&decision, "!", &rule, &now_ms);
		now_ms -= 10;
		assert_int_equal(damper_held_ms(&decision.damper, now_ms), holds[i]);
		now_ms += holds[i] - 1;
		assert_int_equal(feed(&decision, "+++", &rule, &now_ms), DECISION_GOOD);
	}
}

static void test_reason_is_that_of_the_last_change(void **state)
{
	struct decision decision = {0};

	(void)state;
	assert_false(decision_feed(&decision, ANSWER_BAD, "first", &rule, 0));
	assert_true(decision_feed(&decision, ANSWER_BAD, "second", &rule, 0));
	assert_false(decision_feed(&decision, ANSWER_BAD, "third", &rule, 0));
	assert_string_equal(decision.reason, "second");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_verdict_needs_as_many_answers_as_the_rule_says),
		cmocka_unit_test(test_static_rule_ignores_silence_but_not_the_end_of_the_director),
		cmocka_unit_test(test_hold_doubles_while_it_flaps),
		cmocka_unit_test(test_reason_is_that_of_the_last_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
