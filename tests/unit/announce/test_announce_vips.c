/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/vips.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct vips_rule rule = {
	.damper = {.trigger_healthy = 3, .trigger_unhealthy = 2, .hold_ms = 1000, .hold_max_ms = 4000}};

static enum vips_state feed(struct vip *vip, const char *answers, const struct vips_rule *with, uint64_t *now_ms)
{
	static const char letters[] = {[VIPS_GOOD] = '+', [VIPS_BAD] = '-', [VIPS_GONE] = '!', [VIPS_SILENT] = '~'};

	for (; *answers; answers++, *now_ms += 10)
		vips_feed(vip, (enum vips_answer)((const char *)memchr(letters, *answers, sizeof(letters)) - letters),
			answers, with, *now_ms);
	return vip->wish;
}

static void test_first_decision_needs_as_many_answers_as_the_rule_says(void **state)
{
	static const struct {
		const char *answers;
		enum vips_state wish;
	} cases[] = {
		{"", VIPS_UNKNOWN},
		{"++", VIPS_UNKNOWN},
		{"+++", VIPS_ANNOUNCED},
		{"-", VIPS_UNKNOWN},
		{"-+-+-+", VIPS_UNKNOWN},
		{"--", VIPS_WITHDRAWN},
		{"++--", VIPS_WITHDRAWN},
		{"~", VIPS_UNKNOWN},
		{"~~", VIPS_WITHDRAWN},
		{"!", VIPS_WITHDRAWN},
		{"++!", VIPS_WITHDRAWN},
		{"!+++", VIPS_ANNOUNCED},
		{"--++", VIPS_WITHDRAWN},
		{"+++-", VIPS_ANNOUNCED},
		{"+++--", VIPS_WITHDRAWN},
		{"+++-+-+-", VIPS_ANNOUNCED},
		{"+++!", VIPS_WITHDRAWN},
		{"+++-~", VIPS_WITHDRAWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vip vip = {0};
		uint64_t now_ms = 5000;

		if (feed(&vip, cases[i].answers, &rule, &now_ms) != cases[i].wish)
			fail_msg("%s: %s", cases[i].answers, vips_state_name(vip.wish));
	}
}

static void test_static_rule_ignores_silence_but_not_the_end_of_the_director(void **state)
{
	struct vips_rule fail_static = rule;
	struct vip vip = {0};
	uint64_t now_ms = 5000;

	(void)state;
	fail_static.fail_static = true;
	assert_int_equal(feed(&vip, "~~~~", &fail_static, &now_ms), VIPS_UNKNOWN);
	assert_int_equal(feed(&vip, "+++~~~~", &fail_static, &now_ms), VIPS_ANNOUNCED);
	assert_int_equal(feed(&vip, "-~~-", &fail_static, &now_ms), VIPS_WITHDRAWN);
	now_ms += 10000;
	assert_int_equal(feed(&vip, "+~+~+!", &fail_static, &now_ms), VIPS_WITHDRAWN);
}

static void test_hold_doubles_while_the_vip_flaps(void **state)
{
	static const uint64_t holds[] = {1000, 2000, 4000, 4000};
	struct vip vip = {0};
	uint64_t now_ms = 5000;

	(void)state;
	feed(&vip, "+++", &rule, &now_ms);
	for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++) {
		feed(&vip, "!", &rule, &now_ms);
		now_ms -= 10;
		assert_int_equal(damper_held_ms(&vip.damper, now_ms), holds[i]);
		now_ms += holds[i] - 1;
		assert_int_equal(feed(&vip, "+++", &rule, &now_ms), VIPS_ANNOUNCED);
	}
}

static void test_reason_is_that_of_the_last_change(void **state)
{
	struct vip vip = {0};

	(void)state;
	assert_false(vips_feed(&vip, VIPS_BAD, "first", &rule, 0));
	assert_true(vips_feed(&vip, VIPS_BAD, "second", &rule, 0));
	assert_false(vips_feed(&vip, VIPS_BAD, "third", &rule, 0));
	assert_string_equal(vip.reason, "second");
}

static struct netprefix prefix(const char *text)
{
	struct netprefix parsed;

	assert_true(netprefix_parse(text, &parsed, NULL));
	return parsed;
}

static void test_vips_that_stay_keep_their_state(void **state)
{
	const struct netprefix both[] = {prefix("203.0.113.10"), prefix("203.0.113.0/24")},
			       probe = prefix("203.0.113.241");
	struct vips vips = {0};

	(void)state;
	assert_true(vips_replace(&vips, both, 2, &probe));
	assert_int_equal(vips.count, 3);
	assert_true(vips.items[2].is_probe);
	vips.items[0].state = VIPS_WITHDRAWN;
	vips.items[1].state = VIPS_ANNOUNCED;
	assert_true(vips_replace(&vips, NULL, 0, &probe));
	vips_forget(&vips);
	assert_int_equal(vips.count, 2); /* one that is announced is not forgotten */
	assert_true(vips.items[0].gone);
	assert_int_equal(vips.items[0].state, VIPS_ANNOUNCED);
	assert_false(vips.items[1].gone);
	assert_true(vips_replace(&vips, both, 2, NULL));
	assert_false(vips.items[0].gone);
	assert_true(vips.items[1].gone);
	assert_int_equal(vips.count, 3);
	vips_free(&vips);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_decision_needs_as_many_answers_as_the_rule_says),
		cmocka_unit_test(test_static_rule_ignores_silence_but_not_the_end_of_the_director),
		cmocka_unit_test(test_hold_doubles_while_the_vip_flaps),
		cmocka_unit_test(test_reason_is_that_of_the_last_change),
		cmocka_unit_test(test_vips_that_stay_keep_their_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
