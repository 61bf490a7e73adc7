/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "program/http/http_host.h"

static void test_addresses_and_localhost_are_local(void **state)
{
	static const char *const hosts[] = {"127.0.0.1", "127.0.0.1:19520", "localhost", "localhost:1",
		"LocalHost:19520", "director-1.localhost:8080", "[::1]", "[::1]:19521", "192.0.2.1:80", "127.0.0.1:"};

	(void)state;
	assert_true(http_host_is_local(NULL));
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (!http_host_is_local(hosts[i]))
			fail_msg("%s", hosts[i]);
}

static void test_other_names_are_not_local(void **state)
{
	static const char *const hosts[] = {"", ":", "x", "evil.example:19520", "localhost.evil.example",
		"evillocalhost", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "127.0.0.1:80@evil.example",
		"[::1", "[evil.example]", "[::1].evil.example", "localhost:80.evil.example", "127.0.0.1 evil.example",
		"::1", "[]", "2130706433", "0x7f.1"};
	char longest[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (http_host_is_local(hosts[i]))
			fail_msg("%s", hosts[i]);
	memset(longest, 'a', sizeof(longest));
	strcpy(longest + sizeof(longest) - sizeof(".localhost"), ".localhost");
	assert_false(http_host_is_local(longest));
}

static void test_loopback_addresses(void **state)
{
	static const struct {
		const char *address;
		bool loopback;
	} cases[] = {{"127.0.0.1", true}, {"127.255.0.9", true}, {"::1", true}, {"::", false}, {"0.0.0.0", false},
		{"192.0.2.127", false}, {"7f00::1", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct netaddr address;

		assert_true(netaddr_parse(cases[i].address, &address));
		assert_int_equal(http_host_is_loopback(&address), cases[i].loopback);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_and_localhost_are_local),
		cmocka_unit_test(test_other_names_are_not_local),
		cmocka_unit_test(test_loopback_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
