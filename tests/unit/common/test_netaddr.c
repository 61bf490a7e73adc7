/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/netaddr.h"
#include "tests/unit/table_helpers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct netaddr addr_of(const char *text)
{
	struct netaddr addr;

	assert_true(netaddr_parse(text, &addr));
	return addr;
}

static struct netprefix prefix_of(const char *text)
{
	struct netprefix prefix;

	assert_true(netprefix_parse(text, &prefix, NULL));
	return prefix;
}

static void test_addresses_in_and_out(void **state)
{
	static const char *const cases[][2] = {
		{"0.0.0.0", "0.0.0.0"},
		{"192.168.0.1", "192.168.0.1"},
		{"255.255.255.255", "255.255.255.255"},
		{"::", "::"},
		{"FDB4:0000:0::0001", "fdb4::1"},
		{"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
		{"::ffff:1.2.3.4", "::ffff:1.2.3.4"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct netaddr addr = addr_of(cases[i][0]);
		char text[NETADDR_TEXT_MAX];

		assert_string_equal(netaddr_format(&addr, text), cases[i][1]);
	}
}

static void test_what_others_can_reach(void **state)
{
	static const struct {
		const char *text;
		bool unicast;
	} cases[] = {{"0.0.0.0", false}, {"0.255.255.255", false}, {"1.0.0.0", true}, {"10.0.0.1", true},
		{"126.255.255.255", true}, {"127.0.0.1", false}, {"128.0.0.1", true}, {"223.255.255.255", true},
		{"224.0.0.1", false}, {"240.0.0.1", false}, {"255.255.255.255", false}, {"::", false}, {"::1", false},
		{"::2", true}, {"fe80::1", true}, {"fdb4::1", true}, {"ff02::1", false}, {"::ffff:10.0.0.1", true}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct netaddr addr = addr_of(cases[i].text);

		assert_int_equal(netaddr_is_unicast(&addr), cases[i].unicast);
		assert_int_equal(netaddr_is_host(&addr), cases[i].unicast && strncmp(cases[i].text, "fe80", 4) != 0 &&
								 strncmp(cases[i].text, "::ffff", 6) != 0);
	}
}

static void test_bad_addresses_are_refused_and_change_nothing(void **state)
{
	static const char *const cases[] = {"", "1.2.3", "1.2.3.4.5", "10.0.0.300", "01.2.3.4", "1.2.3.4 ", " 1.2.3.4",
		"1.2.3.4/8", "::g", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1::", "fe80::1%eth0", "host", "0x1.2.3.4"};
	struct netaddr addr = {.family = 77};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_false(netaddr_parse(cases[i], &addr));
		assert_int_equal(addr.family, 77);
	}
}

static void test_unused_bytes_are_zero(void **state)
{
	static const uint8_t zero[12];
	uint8_t bytes[16];
	struct netaddr addr;

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	addr = netaddr_from_bytes(NETADDR_V4, bytes);
	assert_int_equal(netaddr_size(&addr), 4);
	assert_int_equal(netaddr_bits(&addr), 32);
	assert_memory_equal(addr.bytes + 4, zero, 12);
	addr = addr_of("255.255.255.255");
	assert_memory_equal(addr.bytes + 4, zero, 12);
}

static void test_order_is_family_then_bytes(void **state)
{
	static const char *const ascending[] = {
		"1.2.3.4", "1.2.3.5", "9.0.0.0", "10.0.0.0", "255.0.0.0", "::", "::1", "1::"};

	(void)state;
	for (size_t i = 0; i < COUNT(ascending); i++) {
		for (size_t j = 0; j < COUNT(ascending); j++) {
			struct netaddr a = addr_of(ascending[i]), b = addr_of(ascending[j]);
			int order = netaddr_compare(&a, &b);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
	}
}

static void test_prefixes_in_and_out(void **state)
{
	static const struct {
		const char *in, *out;
		bool host_bits;
	} cases[] = {
		{"10.0.0.1", "10.0.0.1", false},
		{"10.0.0.1/32", "10.0.0.1", false},
		{"10.0.0.0/8", "10.0.0.0/8", false},
		{"10.1.2.3/8", "10.0.0.0/8", true},
		{"10.255.255.255/9", "10.128.0.0/9", true},
		{"255.255.255.255/0", "0.0.0.0/0", true},
		{"fdb4::/64", "fdb4::/64", false},
		{"fdb4::1/64", "fdb4::/64", true},
		{"fdb4::1/128", "fdb4::1", false},
		{"ffff::/3", "e000::/3", true},
		{"::/0", "::/0", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct netprefix prefix;
		char text[NETPREFIX_TEXT_MAX];
		bool host_bits;

		assert_true(netprefix_parse(cases[i].in, &prefix, &host_bits));
		assert_string_equal(netprefix_format(&prefix, text), cases[i].out);
		assert_int_equal(host_bits, cases[i].host_bits);
	}
}

static void test_bad_prefixes_are_refused(void **state)
{
	static const char *const cases[] = {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1",
		"10.0.0.0/8 ", "10.0.0.0/ 8", "10.0.0.0/8/8", "10.0.0.0/00000", "10.0.0.0/08", "10.0.0.0/+8",
		"10.0.0.0/4294967304", "10.0.0/8", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/8"};
	struct netprefix prefix;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_false(netprefix_parse(cases[i], &prefix, NULL));
}

static void test_mask_clears_all_bits_from_length_on(void **state)
{
	(void)state;
	for (unsigned length = 0; length <= 128; length++) {
		uint8_t bytes[16];

		memset(bytes, 0xff, sizeof(bytes));
		netprefix_mask(bytes, sizeof(bytes), length);
		for (unsigned bit = 0; bit < 128; bit++)
			assert_int_equal(bytes[bit / 8] >> (7 - bit % 8) & 1, bit < length);
	}
}

static void test_covers_and_overlaps(void **state)
{
	static const struct {
		const char *a, *b;
		bool overlap;
	} cases[] = {
		{"10.0.0.0/8", "10.200.0.0/16", true},
		{"10.0.0.0/8", "11.0.0.0/16", false},
		{"10.0.0.1", "10.0.0.1", true},
		{"10.0.0.1", "10.0.0.2", false},
		{"0.0.0.0/0", "1.2.3.4", true},
		{"0.0.0.0/0", "::/0", false},
		{"::/0", "fdb4::1", true},
		{"fdb4::/65", "fdb4::8000:0:0:1", false},
		{"fdb4::/64", "fdb4::8000:0:0:1", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct netprefix a = prefix_of(cases[i].a), b = prefix_of(cases[i].b);

		assert_int_equal(prefixes_overlap(&a, &b), cases[i].overlap);
		assert_int_equal(prefixes_overlap(&b, &a), cases[i].overlap);
		assert_int_equal(netprefix_covers(&a, &b.addr), cases[i].overlap);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_in_and_out),
		cmocka_unit_test(test_what_others_can_reach),
		cmocka_unit_test(test_bad_addresses_are_refused_and_change_nothing),
		cmocka_unit_test(test_unused_bytes_are_zero),
		cmocka_unit_test(test_order_is_family_then_bytes),
		cmocka_unit_test(test_prefixes_in_and_out),
		cmocka_unit_test(test_bad_prefixes_are_refused),
		cmocka_unit_test(test_mask_clears_all_bits_from_length_on),
		cmocka_unit_test(test_covers_and_overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
