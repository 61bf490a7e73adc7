/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/table_helpers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_a_name_is_utf8_without_control_characters(void **state)
{
	static const char *const good[] = {"a", " ", "~", "web-1 (\"x\")", "\xc2\xa0", "\xdf\xbf", "\xe0\xa0\x80",
		"\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
	/* Control characters, and then bytes that are not UTF-8: overlong forms, surrogates, values above U+10FFFF, characters
	 * that are cut off, and lone continuation bytes. */
	static const char *const bad[] = {"", "\x01", "\x1f", "\x7f", "\xc2\x80", "\xc2\x9f", "\xc0\xaf", "\xc1\xbf",
		"\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80",
		"\xf8\x88\x80\x80\x80", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x92", "\x80", "\xe2\x28\xa1"};
	char name[TABLE_MAX_NAME + 2];

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(table_name_is_valid(good[i], strlen(good[i])));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(table_name_is_valid(bad[i], strlen(bad[i])));
	assert_false(table_name_is_valid("a\0b", 3));
	memset(name, 'x', sizeof(name));
	assert_true(table_name_is_valid(name, TABLE_MAX_NAME));
	assert_false(table_name_is_valid(name, TABLE_MAX_NAME + 1));
}

static void test_protocols_and_states_have_names(void **state)
{
	(void)state;
	assert_string_equal(table_protocol_name(TABLE_TCP), "tcp");
	assert_string_equal(table_protocol_name(TABLE_UDP), "udp");
	assert_string_equal(table_protocol_name(1), "unknown");
	assert_string_equal(table_state_name(TABLE_FILLING), "filling");
	assert_string_equal(table_state_name(TABLE_INACTIVE), "inactive");
	assert_string_equal(table_state_name(4), "unknown");
}

static void test_the_text_about_matching_names_what_the_table_has(void **state)
{
	struct table table = {0};
	char buf[TABLE_MATCHING_TEXT_MAX];

	(void)state;
	assert_string_equal(table_matching_text(&table, buf), "");
	table.past_count = 1;
	assert_string_equal(table_matching_text(&table, buf), ", 1 previous state");
	table.balance = 1005;
	table.past_count = TABLE_MAX_PAST;
	assert_string_equal(table_matching_text(&table, buf), ", balance 1.005, 16 previous states");
	table.balance = 2000;
	table.past_count = 0;
	assert_string_equal(table_matching_text(&table, buf), ", balance 2");
}

static void test_the_label_is_the_name_or_the_index(void **state)
{
	struct table_set set = random_set(2);
	char buf[16];

	(void)state;
	set.tables[0].name = strdup("web");
	assert_string_equal(table_label(&set, 0, buf), "web");
	assert_string_equal(table_label(&set, 1, buf), "#1");
	table_set_free(&set);
	assert_int_equal(set.count, 0);
	assert_null(set.tables);
	table_set_free(&set);
}

static void test_good_is_active_or_filling_and_healthy(void **state)
{
	(void)state;
	for (uint8_t value = TABLE_FILLING; value <= TABLE_INACTIVE; value++) {
		struct table_backend backend = {.state = value, .healthy = true};

		assert_int_equal(table_backend_is_good(&backend), value == TABLE_ACTIVE || value == TABLE_FILLING);
		backend.healthy = false;
		assert_false(table_backend_is_good(&backend));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_is_utf8_without_control_characters),
		cmocka_unit_test(test_protocols_and_states_have_names),
		cmocka_unit_test(test_the_text_about_matching_names_what_the_table_has),
		cmocka_unit_test(test_the_label_is_the_name_or_the_index),
		cmocka_unit_test(test_good_is_active_or_filling_and_healthy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
