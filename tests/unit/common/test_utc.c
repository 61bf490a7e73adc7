/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/utc.h"

static void test_times_are_read_and_written(void **state)
{
	static const struct {
		const char *text;
		int64_t unix_s;
	} times[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"2000-02-29T23:59:59Z", 951868799},
		{"2026-01-01T00:00:00Z", 1767225600},
		{"9999-12-31T23:59:59Z", 253402300799},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		char buf[UTC_TEXT_MAX];
		int64_t unix_s = -1;

		assert_true(utc_parse(times[i].text, &unix_s));
		assert_int_equal(unix_s, times[i].unix_s);
		assert_string_equal(utc_format(unix_s, buf), times[i].text);
	}
}

static void test_other_texts_are_refused(void **state)
{
	static const char *const texts[] = {"", "2026", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00z",
		"2026-01-01 00:00:00Z", "2026-01-01T00:00:00Z ", " 026-01-01T00:00:00Z", "2026-1-01T000:00:00Z",
		"2026-02-29T00:00:00Z", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
		"2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-12-31T23:59:60Z",
		"1969-12-31T23:59:59Z", "0000-00-00T00:00:00Z", "2026-01-01T00:00:0-Z", "2026-01-01T00-00-00Z",
		"2026-01-01T00:00:00+", "+026-01-01T00:00:00Z"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int64_t unix_s = 7;

		if (utc_parse(texts[i], &unix_s))
			fail_msg("'%s' was read", texts[i]);
		assert_int_equal(unix_s, 7);
	}
}

static void test_times_without_a_text(void **state)
{
	char buf[UTC_TEXT_MAX];

	(void)state;
	assert_string_equal(utc_format(-1, buf), "an unknown time");
	assert_string_equal(utc_format(253402300800, buf), "an unknown time");
	assert_string_equal(utc_format(INT64_MAX, buf), "an unknown time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_are_read_and_written),
		cmocka_unit_test(test_other_texts_are_refused),
		cmocka_unit_test(test_times_without_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
