/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that print values of pages. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "program/html/html.h"

static char *text;
static size_t size;

static FILE *begin(void)
{
	free(text);
	return open_memstream(&text, &size);
}

static const char *end(FILE *to)
{
	fclose(to);
	return text;
}

#define PRINTED(call)               \
	({                          \
		FILE *to = begin(); \
		call;               \
		end(to);            \
	})

static void test_text_that_looks_like_html_is_escaped(void **state)
{
	(void)state;
	assert_string_equal(PRINTED(html_text(to, "<script>alert('1')</script> \"a\" & b")),
		"&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &quot;a&quot; &amp; b");
	assert_string_equal(PRINTED(html_state(to, HTML_BAD, "\" onclick=\"x")),
		"<span class=\"bad\">&quot; onclick=&quot;x</span>");
	assert_string_equal(PRINTED(html_text(to, NULL)), "");
	assert_string_equal(PRINTED(html_text(to, "")), "");
}

static void test_bytes_that_are_no_utf8_are_replaced(void **state)
{
	(void)state;
	assert_string_equal(PRINTED(html_text(to, "a\xff\xc3(\xe2\x82")), "a\uFFFD\uFFFD(\uFFFD\uFFFD");
	assert_string_equal(PRINTED(html_text(to, "a\x01\x7f\n\tb")), "a\uFFFD\uFFFD\uFFFD\uFFFDb");
	/* An overlong <, and half of a surrogate pair. */
	assert_string_equal(PRINTED(html_text(to, "\xc0\xbc")), "\uFFFD\uFFFD");
	assert_string_equal(PRINTED(html_text(to, "\xed\xa0\x80")), "\uFFFD\uFFFD\uFFFD");
	assert_string_equal(PRINTED(html_text(to, "é€𝄞")), "é€𝄞");
}

static void test_every_byte_alone_prints_no_markup(void **state)
{
	char byte[2] = "";

	(void)state;
	for (int i = 1; i < 256; i++) {
		byte[0] = (char)i;
		PRINTED(html_text(to, byte));
		assert_null(strpbrk(text, "<>\"'"));
		assert_true(i == '&' || text[0] != '&' || text[size - 1] == ';');
	}
}

static void test_counts_have_their_exact_value(void **state)
{
	(void)state;
	assert_string_equal(PRINTED(html_count(to, 0)), "<data class=\"zero\" value=\"0\">0</data>");
	assert_string_equal(PRINTED(html_count(to, 9999)), "<data value=\"9999\">9999</data>");
	assert_string_equal(PRINTED(html_count(to, 3214881)), "<data value=\"3214881\" title=\"3214881\">3.21 M</data>");
	assert_string_equal(PRINTED(html_count(to, UINT64_MAX)),
		"<data value=\"18446744073709551615\" title=\"18446744073709551615\">18.4 E</data>");
	/* Four digits would be wider than the column. */
	assert_string_equal(PRINTED(html_count(to, 999999)), "<data value=\"999999\" title=\"999999\">1.00 M</data>");
}

static void test_rates_have_units(void **state)
{
	(void)state;
	assert_string_equal(PRINTED(html_rate(to, 1.85e9, "bit/s")),
		"<data value=\"1850000000.000\" title=\"1850000000.0\">1.85 Gbit/s</data>");
	assert_string_equal(PRINTED(html_rate(to, 0.2, "/s")), "<data value=\"0.200\" title=\"0.2\">0.20 /s</data>");
	assert_string_equal(PRINTED(html_rate(to, 0, "")), "<data class=\"zero\" value=\"0.000\" title=\"0.0\">0</data>");
	assert_non_null(strstr(PRINTED(html_rate(to, NAN, "")), "not known yet"));
	assert_non_null(strstr(PRINTED(html_percent(to, NAN)), "not known yet"));
	assert_non_null(strstr(PRINTED(html_seconds(to, NAN)), "not known yet"));
	assert_non_null(strstr(PRINTED(html_percent(to, 0.123)), ">12.3 %<"));
	assert_non_null(strstr(PRINTED(html_percent(to, 0.0000001)), ">&lt; 0.1 %<"));
	assert_non_null(strstr(PRINTED(html_percent(to, 1)), ">100.0 %<"));
}

static void test_durations_have_units(void **state)
{
	static const struct {
		double seconds;
		const char *shown;
	} cases[] = {{0, ">0 "}, {0.000210, ">210 µs<"}, {0.0034, ">3.4 ms<"}, {12, ">12 s<"}, {300, ">5 min<"},
		{10800, ">3 h<"}, {12 * 86400.0, ">12 d<"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_non_null(strstr(PRINTED(html_seconds(to, cases[i].seconds)), cases[i].shown));
}

static void test_times_are_utc_and_exact(void **state)
{
	(void)state;
	assert_string_equal(PRINTED(html_time(to, 1000000000)),
		"<time datetime=\"2001-09-09T01:46:40Z\" title=\"2001-09-09T01:46:40Z\">2001-09-09 01:46</time>");
	assert_null(strstr(PRINTED(html_time(to, 0)), "1970"));
	/* No year has this many digits. */
	assert_null(strstr(PRINTED(html_time(to, UINT64_MAX / 2)), "<time"));
}

static void test_sparks_of_nothing_say_so(void **state)
{
	const float zeros[3] = {0};

	(void)state;
	assert_non_null(strstr(PRINTED(html_spark(to, zeros, 0, 120, false)), "no history yet"));
	assert_null(strstr(text, "<path"));
	assert_non_null(strstr(PRINTED(html_spark(to, zeros, 1, 120, true)), "no history yet"));
	assert_non_null(strstr(PRINTED(html_spark(to, zeros, 3, 120, true)), "viewBox=\"0 0 119 28\""));
	assert_non_null(strstr(text, "d=\"M117 27L118 27L119 27\""));
	assert_non_null(strstr(text, "class=\"spark\""));
}

static void test_single_drops_do_not_look_like_many(void **state)
{
	const float one[3] = {0, 0.2f, 0}, many[3] = {0, 20, 1};

	(void)state;
	assert_non_null(strstr(PRINTED(html_spark(to, one, 3, 120, true)), "class=\"spark\""));
	assert_non_null(strstr(text, "aria-label=\"at most 0.20 per second, on a scale to 10\""));
	assert_non_null(strstr(text, "d=\"M117 27L118 25L119 27\""));
	assert_non_null(strstr(PRINTED(html_spark(to, many, 3, 120, true)), "class=\"spark hot\""));
	assert_non_null(strstr(text, "aria-label=\"at most 20 per second\""));
	assert_non_null(strstr(text, "d=\"M117 27L118 1L119 25\""));
	assert_non_null(strstr(PRINTED(html_spark(to, one, 3, 120, false)), "d=\"M117 27L118 1L119 27\""));
}

static void test_strips_have_a_dash_for_each_result(void **state)
{
	(void)state;
	assert_string_equal(PRINTED(html_strip(to, " ppfx", "4 <results>")),
		"<svg class=\"strip\" viewBox=\"0 0 20 14\" role=\"img\" aria-label=\"4 &lt;results&gt;\">"
		"<title>4 &lt;results&gt;</title><path class=\"p\" d=\"M4 11H12\"/><path class=\"f\" d=\"M12 7H16\"/>"
		"<path class=\"x\" d=\"M16 12.5H20\"/></svg>");
}

static void test_pages_allow_no_script_but_their_own(void **state)
{
	(void)state;
	assert_non_null(strstr(html_policy, "default-src 'none'"));
	assert_non_null(strstr(html_policy, "script-src 'sha256-"));
	assert_null(strstr(html_policy, "unsafe"));
	PRINTED(html_begin(to, "p", HTML_OK, "<b>", 0); html_end(to, "p"));
	assert_non_null(strstr(text, "<title>&lt;b&gt;: p on "));
	assert_null(strstr(text, "<b>"));
	assert_null(strstr(text, " style="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_that_looks_like_html_is_escaped),
		cmocka_unit_test(test_bytes_that_are_no_utf8_are_replaced),
		cmocka_unit_test(test_every_byte_alone_prints_no_markup),
		cmocka_unit_test(test_counts_have_their_exact_value),
		cmocka_unit_test(test_rates_have_units),
		cmocka_unit_test(test_durations_have_units),
		cmocka_unit_test(test_times_are_utc_and_exact),
		cmocka_unit_test(test_sparks_of_nothing_say_so),
		cmocka_unit_test(test_single_drops_do_not_look_like_many),
		cmocka_unit_test(test_strips_have_a_dash_for_each_result),
		cmocka_unit_test(test_pages_allow_no_script_but_their_own),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(text);
	return failed;
}
