/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of too-big replies under attack. A tick of the clock is a millisecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/byteorder.h"
#include "common/netaddr.h"
#include "packet/icmp/too_big_limit.h"

#define HZ 1000

static struct too_big_limit limit;

static int reset(void **state)
{
	static const uint8_t key[SIPHASH_KEY_SIZE] = {7};

	(void)state;
	too_big_limit_init(&limit, key, 5000);
	too_big_limit_tick(&limit, 5000, HZ);
	return 0;
}

/* Asks for `count` replies to hosts of the prefix. Returns how many are allowed. */
static unsigned ask_v4(uint32_t prefix, unsigned count)
{
	unsigned allowed = 0;
	uint8_t source[16] = {0};

	for (unsigned i = 0; i < count; i++) {
		store_be32(source, prefix << 8 | (i & 255));
		allowed += too_big_limit_take(&limit, NETADDR_V4, source);
	}
	return allowed;
}

static void test_a_prefix_gets_its_burst_and_then_its_rate(void **state)
{
	(void)state;
	assert_int_equal(ask_v4(0xc63364, 300), 50);
	too_big_limit_tick(&limit, 5099, HZ);
	assert_int_equal(ask_v4(0xc63364, 300), 0);
	too_big_limit_tick(&limit, 5100, HZ);
	assert_int_equal(ask_v4(0xc63364, 300), 1);
	too_big_limit_tick(&limit, 6100, HZ);
	assert_int_equal(ask_v4(0xc63364, 300), 10);
	too_big_limit_tick(&limit, 60000, HZ);
	assert_int_equal(ask_v4(0xc63364, 300), 50);
}

static void test_a_sender_that_uses_up_its_prefix_leaves_replies_to_a_victim(void **state)
{
	(void)state;
	assert_int_equal(ask_v4(0xcb0071, 300), 50);
	assert_int_equal(ask_v4(0xc63364, 1), 1);
}

static void test_hosts_of_a_v6_site_share_a_bucket_and_sites_do_not(void **state)
{
	uint8_t source[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 1};
	unsigned allowed = 0;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		source[7] = (uint8_t)i; /* another /64 of the same /56 */
		source[15] = (uint8_t)(i + 1);
		allowed += too_big_limit_take(&limit, NETADDR_V6, source);
	}
	assert_int_equal(allowed, 50);
	source[6] = 2;
	assert_true(too_big_limit_take(&limit, NETADDR_V6, source));
}

static void test_an_ipv4_address_and_the_same_bytes_in_ipv6_do_not_share_a_bucket(void **state)
{
	uint8_t source[16] = {198, 51, 100};

	(void)state;
	assert_int_equal(ask_v4(0xc63364, 300), 50);
	assert_true(too_big_limit_take(&limit, NETADDR_V6, source));
}

static void test_all_prefixes_together_get_the_total(void **state)
{
	unsigned allowed = 0;

	(void)state;
	for (uint32_t prefix = 0; prefix < 100000; prefix++)
		allowed += ask_v4(0x010000 + prefix, 1);
	assert_in_range(allowed, TOO_BIG_LIMIT_PER_SECOND / 2, TOO_BIG_LIMIT_PER_SECOND);
	too_big_limit_tick(&limit, 15000, HZ);
	allowed = 0;
	for (uint32_t prefix = 0; prefix < 100000; prefix++)
		allowed += ask_v4(0x010000 + prefix, 1);
	assert_in_range(allowed, TOO_BIG_LIMIT_PER_SECOND / 2, TOO_BIG_LIMIT_PER_SECOND);
}

/* Attackers in `prefixes` prefixes send for ten seconds; each sends 100 packets a second. Returns the percentage of victims with a reply. */
static unsigned attack(uint32_t prefixes)
{
	unsigned victims = 0, replies = 0;

	for (uint64_t ms = 0; ms < 10000; ms += 10) {
		too_big_limit_tick(&limit, 5000 + ms, HZ);
		for (uint32_t prefix = 0; prefix < prefixes; prefix++)
			ask_v4(0x010000 + prefix, 1);
		if (ms >= 5000 && ms % 50 == 0) { /* each victim sends one packet, from a prefix of its own */
			replies += ask_v4(0xc60000 + victims, 1);
			victims++;
		}
	}
	return 100 * replies / victims;
}

static void test_victims_get_replies_while_many_prefixes_attack(void **state)
{
	(void)state;
	assert_in_range(attack(10), 97, 100);
	reset(state);
	assert_in_range(attack(100), 85, 100); /* 9 % of the victims share a bucket with an attacker */
	reset(state);
	assert_in_range(attack(500), 50, 75); /* 61 % have a bucket of their own */
}

static void test_few_victims_get_replies_while_all_buckets_are_attacked(void **state)
{
	(void)state;
	assert_in_range(attack(20000), 0, 10);
}

static void test_another_key_lets_other_prefixes_share_a_bucket(void **state)
{
	static const uint8_t keys[2][SIPHASH_KEY_SIZE] = {{1}, {2}};
	uint32_t shared[2] = {0};

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		too_big_limit_init(&limit, keys[k], 5000);
		too_big_limit_tick(&limit, 5000, HZ);
		assert_int_equal(ask_v4(0xc63364, 300), 50);
		while (ask_v4(0x010000 + shared[k], 1))
			shared[k] += 1 + (shared[k] == UINT16_MAX);
	}
	assert_int_not_equal(shared[0], shared[1]);
}

static void test_a_clock_that_goes_back_gives_no_replies(void **state)
{
	(void)state;
	assert_int_equal(ask_v4(0xc63364, 300), 50);
	too_big_limit_tick(&limit, 10, HZ);
	assert_int_equal(ask_v4(0xc63364, 300), 0);
	too_big_limit_tick(&limit, 110, HZ);
	assert_int_equal(ask_v4(0xc63364, 300), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_prefix_gets_its_burst_and_then_its_rate, reset),
		cmocka_unit_test_setup(test_a_sender_that_uses_up_its_prefix_leaves_replies_to_a_victim, reset),
		cmocka_unit_test_setup(test_hosts_of_a_v6_site_share_a_bucket_and_sites_do_not, reset),
		cmocka_unit_test_setup(test_an_ipv4_address_and_the_same_bytes_in_ipv6_do_not_share_a_bucket, reset),
		cmocka_unit_test_setup(test_all_prefixes_together_get_the_total, reset),
		cmocka_unit_test_setup(test_victims_get_replies_while_many_prefixes_attack, reset),
		cmocka_unit_test_setup(test_few_victims_get_replies_while_all_buckets_are_attacked, reset),
		cmocka_unit_test_setup(test_another_key_lets_other_prefixes_share_a_bucket, reset),
		cmocka_unit_test_setup(test_a_clock_that_goes_back_gives_no_replies, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
