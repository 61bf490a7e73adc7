/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: states, and how long reasons have lasted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "director/health/health.h"

static void fails(struct health_report *report, const char *object)
{
	health_add(report, HEALTH_LINK_DOWN, HEALTH_FAILS, object, "text about %s", object);
}

static void degrades(struct health_report *report, const char *object)
{
	health_add(report, HEALTH_LINK_DOWN, HEALTH_DEGRADES, object, "text about %s", object);
}

static void test_starting_lasts_until_nothing_fails(void **state)
{
	struct health_report bad = {0}, degraded = {0};
	struct health health;

	(void)state;
	fails(&bad, "port 0");
	degrades(&degraded, "port 1");
	health_open(&health, 100);
	assert_int_equal(health.state, HEALTH_STARTING);
	assert_true(health_update(&health, &bad, 101, 1));
	assert_int_equal(health.state, HEALTH_STARTING);
	assert_int_equal(health.since, 100);
	assert_true(health_update(&health, &degraded, 102, 2));
	assert_int_equal(health.state, HEALTH_DEGRADED);
	assert_int_equal(health.since, 102);
	health_update(&health, &bad, 103, 3);
	assert_int_equal(health.state, HEALTH_FAILING); /* it does not start again */
}

static void test_state_is_that_of_the_worst_reason(void **state)
{
	struct health_report mixed = {0};
	struct health health;

	(void)state;
	health_open(&health, 100);
	health_update(&health, &(struct health_report){0}, 100, 0);
	assert_int_equal(health.state, HEALTH_OK);
	degrades(&mixed, "a");
	fails(&mixed, "b");
	degrades(&mixed, "c");
	health_update(&health, &mixed, 101, 0);
	assert_int_equal(health.state, HEALTH_FAILING);
	health_update(&health, &(struct health_report){0}, 102, 0);
	assert_int_equal(health.state, HEALTH_OK);
}

static void test_stopping_remains(void **state)
{
	struct health health;

	(void)state;
	health_open(&health, 100);
	health_stop(&health, 105);
	health_stop(&health, 106);
	health_update(&health, &(struct health_report){0}, 107, 0);
	assert_int_equal(health.state, HEALTH_STOPPING);
	assert_int_equal(health.since, 105);
}

static void test_reason_keeps_its_time_while_text_and_place_change(void **state)
{
	struct health_report one = {0}, two = {0};
	struct health health;

	(void)state;
	health_open(&health, 100);
	degrades(&one, "port 1");
	assert_true(health_update(&health, &one, 101, 0));
	assert_false(health_update(&health, &one, 102, 0));
	degrades(&two, "port 0");
	health_add(&two, HEALTH_LINK_DOWN, HEALTH_DEGRADES, "port 1", "another text");
	assert_true(health_update(&health, &two, 103, 0));
	assert_int_equal(health.report.reasons[0].since, 103);
	assert_int_equal(health.report.reasons[1].since, 101);
	assert_string_equal(health.report.reasons[1].text, "another text");
	health_update(&health, &(struct health_report){0}, 104, 0);
	health_update(&health, &one, 105, 0);
	assert_int_equal(health.report.reasons[0].since, 105); /* it had gone meanwhile */
}

static void test_change_of_severity_is_a_change(void **state)
{
	struct health_report one = {0}, two = {0};
	struct health health;

	(void)state;
	health_open(&health, 100);
	degrades(&one, "port 1");
	fails(&two, "port 1");
	health_update(&health, &one, 101, 0);
	assert_true(health_update(&health, &two, 102, 0));
	assert_int_equal(health.report.reasons[0].since, 101);
}

/* The worst reason may be one of those that do not fit. */
static void test_omitted_reasons_count_for_the_state(void **state)
{
	struct health_report many = {0};
	struct health health;
	char object[16];

	(void)state;
	for (unsigned i = 0; i < HEALTH_MAX_REASONS; i++) {
		snprintf(object, sizeof(object), "port %u", i);
		degrades(&many, object);
	}
	fails(&many, "port 99");
	assert_int_equal(many.count, HEALTH_MAX_REASONS);
	assert_int_equal(many.omitted, 1);
	health_open(&health, 100);
	health_update(&health, &(struct health_report){0}, 101, 0);
	health_update(&health, &many, 102, 0);
	assert_int_equal(health.state, HEALTH_FAILING);
}

static void test_long_texts_are_cut(void **state)
{
	struct health_report report = {0};
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	health_add(&report, HEALTH_RELOAD_FAILED, HEALTH_DEGRADES, text, "%s", text);
	assert_int_equal(strlen(report.reasons[0].object), HEALTH_OBJECT_SIZE - 1);
	assert_int_equal(strlen(report.reasons[0].text), HEALTH_TEXT_SIZE - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starting_lasts_until_nothing_fails),
		cmocka_unit_test(test_state_is_that_of_the_worst_reason),
		cmocka_unit_test(test_stopping_remains),
		cmocka_unit_test(test_reason_keeps_its_time_while_text_and_place_change),
		cmocka_unit_test(test_change_of_severity_is_a_change),
		cmocka_unit_test(test_omitted_reasons_count_for_the_state),
		cmocka_unit_test(test_long_texts_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
