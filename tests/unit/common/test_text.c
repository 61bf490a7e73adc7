/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "common/text.h"

static void check(const char *text, const char *expected)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%s", text);
	text_mend(buf);
	assert_string_equal(buf, expected);
}

static void test_valid_text_is_unchanged(void **state)
{
	(void)state;
	check("", "");
	check("plain, ~", "plain, ~");
	check("\u00a0\u00e9 \u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff",
		"\u00a0\u00e9 \u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff");
}

static void test_control_characters_are_replaced(void **state)
{
	(void)state;
	check("a\nb\tc\x1b[2Jd\x7f", "a?b?c?[2Jd?");
	check("\xc2\x80|\xc2\x9f|", "??|??|");
}

/* The examples of the Unicode standard and RFC 3629: too long, surrogates, beyond the last one. */
static void test_bytes_that_are_not_utf8_are_replaced(void **state)
{
	(void)state;
	check("caf\xe9", "caf?");
	check("\x80 \xbf", "? ?");
	check("\xc0\xaf", "??");
	check("\xe0\x80\xaf", "???");
	check("\xf0\x8f\xbf\xbf", "????");
	check("\xed\xa0\x80", "???");
	check("\xf4\x90\x80\x80", "????");
	check("\xf8\x88\x80\x80\x80", "?????");
}

static void test_a_character_that_is_cut_off_is_replaced(void **state)
{
	(void)state;
	check("\xc3", "?");
	check("a\xe2\x82", "a??");
	check("a\xf0\x9f\x98", "a???");
	check("\xc3(", "?(");
}

static void test_a_number_is_decimal_digits_in_a_range(void **state)
{
	static const char *const others[] = {"", "-1", "+9", " 9", "9 ", "0x9", "9.0", "a", "256", "8", "0", "09", "00",
		"4294967305", "18446744073709551625", "99999999999999999999999"};
	uint32_t number = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(text_number(others[i], 9, 255, &number));
	assert_int_equal(number, 7);
	assert_true(text_number("0", 0, 255, &number));
	assert_int_equal(number, 0);
	assert_true(text_number("255", 255, 255, &number));
	assert_int_equal(number, 255);
	assert_true(text_number("4294967295", 0, UINT32_MAX, &number));
	assert_int_equal(number, UINT32_MAX);
	assert_false(text_number("4294967296", 0, UINT32_MAX, &number));
}

static void test_taking_a_number_stops_behind_its_last_digit(void **state)
{
	const char *text = "12,3";
	uint32_t number;

	(void)state;
	assert_true(text_take_number(&text, 0, 255, &number));
	assert_int_equal(number, 12);
	assert_string_equal(text, ",3");
	assert_false(text_take_number(&text, 0, 255, &number));
	assert_string_equal(text, ",3");
	assert_int_equal(number, 12);
}

static void test_a_duration_is_a_number_and_a_unit(void **state)
{
	static const char *const others[] = {
		"", "5", "s", "5S", "5 s", " 5s", "+5s", "-5s", "5sm", "5m5s", "1.5s", "5us", "9000000000000s"};
	int64_t ms = 7;
	uint32_t seconds = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_false(text_duration_ms(others[i], INT64_MAX, &ms));
		assert_false(text_duration(others[i], UINT32_MAX, &seconds));
	}
	assert_false(text_duration("0s", 10, &seconds) || text_duration("500ms", 10, &seconds));
	assert_false(text_duration("11s", 10, &seconds) || text_duration_ms("2d", 172799999, &ms));
	assert_true(ms == 7 && seconds == 7);
	assert_true(text_duration_ms("0s", 0, &ms) && ms == 0);
	assert_true(text_duration_ms("500ms", 500, &ms) && ms == 500);
	assert_true(text_duration_ms("2d", 172800000, &ms) && ms == 172800000);
	assert_true(text_duration("90s", 90, &seconds) && seconds == 90);
	assert_true(text_duration("10m", 600, &seconds) && seconds == 600);
	assert_true(text_duration("2h", 7200, &seconds) && seconds == 7200);
	assert_true(text_duration("1d", 86400, &seconds) && seconds == 86400);
	assert_true(text_duration("2000ms", 10, &seconds) && seconds == 2);
}

static void test_a_percentage_is_digits_and_perhaps_a_point_and_digits(void **state)
{
	static const char *const others[] = {"", "-1", "+9", " 9", "9 ", "0x9", "9.", ".9", "9,5", "9.5.1", "9%", "09",
		"1e1", "nan", "inf", "100.01", "101", "99999999999999999999999"};
	double percent = 7.0;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(text_percent(others[i], &percent));
	assert_true(percent == 7.0);
	assert_true(text_percent("0", &percent) && percent == 0.0);
	assert_true(text_percent("0.05", &percent) && percent == 0.05);
	assert_true(text_percent("100", &percent) && percent == 100.0);
	assert_true(text_percent("100.00", &percent) && percent == 100.0);
	assert_true(text_percent("33.333333333333333333333333333333333333", &percent) && percent > 33.3);
}

static void test_thousandths_have_at_most_three_decimals(void **state)
{
	static const char *const others[] = {
		"", "-1", "1.", ".9", "1,5", "1.0001", "1.5x", "01.5", "off", "1.004", "2.001", "3", "4294968.5"};
	uint32_t value = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(text_thousandths(others[i], 1005, 2000, &value));
	assert_int_equal(value, 7);
	assert_true(text_thousandths("1.005", 1005, 2000, &value) && value == 1005);
	assert_true(text_thousandths("1.2", 1005, 2000, &value) && value == 1200);
	assert_true(text_thousandths("2", 1005, 2000, &value) && value == 2000);
}

static void test_typing_errors(void **state)
{
	(void)state;
	assert_int_equal(text_typos("port", "port"), 0);
	assert_int_equal(text_typos("Port", "port"), 0);
	assert_int_equal(text_typos("ports", "port"), 1);
	assert_int_equal(text_typos("prot", "port"), 1);
	assert_int_equal(text_typos("prt", "port"), 1);
	assert_int_equal(text_typos("ports", "proto"), TEXT_OTHER_WORD);
	assert_int_equal(text_typos("outbuond_mut", "outbound_mtu"), 2);
	assert_int_equal(text_typos("outbound", "outbound_udp_checksum"), 2);
	assert_int_equal(text_typos("ip", "idle"), TEXT_OTHER_WORD);
	assert_int_equal(text_typos("", ""), TEXT_OTHER_WORD);
	assert_int_equal(text_typos("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaa"), TEXT_OTHER_WORD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid_text_is_unchanged),
		cmocka_unit_test(test_control_characters_are_replaced),
		cmocka_unit_test(test_bytes_that_are_not_utf8_are_replaced),
		cmocka_unit_test(test_a_character_that_is_cut_off_is_replaced),
		cmocka_unit_test(test_a_number_is_decimal_digits_in_a_range),
		cmocka_unit_test(test_a_duration_is_a_number_and_a_unit),
		cmocka_unit_test(test_a_percentage_is_digits_and_perhaps_a_point_and_digits),
		cmocka_unit_test(test_taking_a_number_stops_behind_its_last_digit),
		cmocka_unit_test(test_thousandths_have_at_most_three_decimals),
		cmocka_unit_test(test_typing_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
