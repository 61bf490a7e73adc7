/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/endpoint.h"

static void test_text_survives_parsing_and_formatting(void **state)
{
	static const char *const texts[] = {
		"192.0.2.1", "192.0.2.1:0", "192.0.2.1:65535", "2001:db8::1", "[2001:db8::1]:80", "::"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct endpoint endpoint;
		char buf[ENDPOINT_TEXT_MAX];

		assert_true(endpoint_parse(texts[i], &endpoint));
		assert_string_equal(endpoint_format(&endpoint, buf), texts[i]);
	}
}

static void test_address_and_port_are_parsed(void **state)
{
	struct endpoint endpoint;

	(void)state;
	assert_true(endpoint_parse("[::1]:19521", &endpoint));
	assert_int_equal(endpoint.addr.family, NETADDR_V6);
	assert_true(endpoint.has_port);
	assert_int_equal(endpoint.port, 19521);
	assert_true(endpoint_parse("[::1]", &endpoint));
	assert_false(endpoint.has_port);
	assert_int_equal(endpoint.port, 0);
	assert_true(endpoint_parse("10.0.0.1", &endpoint));
	assert_int_equal(endpoint.addr.family, NETADDR_V4);
	assert_false(endpoint.has_port);
}

static void test_text_of_another_form_is_refused(void **state)
{
	static const char *const texts[] = {"", ":", ":80", "10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:+80",
		"10.0.0.1: 80", "10.0.0.1:80x", "10.0.0:80", "[::1", "[::1]80", "[::1]:", "[]:80", "localhost:80",
		"::1]:80", "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb"};
	struct endpoint endpoint = {.port = 7};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_false(endpoint_parse(texts[i], &endpoint));
	assert_int_equal(endpoint.port, 7);
}

static void test_the_longest_text_fits(void **state)
{
	struct netaddr addr = {.family = NETADDR_V6};
	char buf[ENDPOINT_TEXT_MAX];

	(void)state;
	memset(addr.bytes, 0xff, sizeof(addr.bytes));
	assert_string_equal(endpoint_text(&addr, 65535, buf), "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_survives_parsing_and_formatting),
		cmocka_unit_test(test_address_and_port_are_parsed),
		cmocka_unit_test(test_text_of_another_form_is_refused),
		cmocka_unit_test(test_the_longest_text_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
