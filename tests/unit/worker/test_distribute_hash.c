/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/guarded.h"
#include "worker/distribute_hash.h"

#define SEED UINT64_C(0x0123456789abcdef)

struct frame {
	uint8_t bytes[128];
	uint32_t size;
};

static struct frame tagged(unsigned tags, uint16_t type)
{
	struct frame frame = {.size = 14 + 4 * tags};

	for (unsigned i = 0; i < tags; i++)
		frame.bytes[12 + 4 * i] = i == 0 && tags == 2 ? 0x88 : 0x81;
	if (tags == 2)
		frame.bytes[13] = 0xa8;
	frame.bytes[12 + 4 * tags] = (uint8_t)(type >> 8);
	frame.bytes[13 + 4 * tags] = (uint8_t)type;
	return frame;
}

static struct frame ipv4(unsigned tags, uint8_t ihl, uint16_t fragment, uint8_t protocol, uint8_t client, uint16_t port)
{
	struct frame frame = tagged(tags, 0x0800);
	uint8_t *ip = frame.bytes + frame.size;

	ip[0] = 0x40 | ihl;
	ip[6] = (uint8_t)(fragment >> 8);
	ip[7] = (uint8_t)fragment;
	ip[9] = protocol;
	memcpy(ip + 12, (uint8_t[]){198, 51, 100, client, 10, 10, 10, 10}, 8);
	ip[4 * ihl] = (uint8_t)(port >> 8);
	ip[4 * ihl + 1] = (uint8_t)port;
	ip[4 * ihl + 3] = 80;
	frame.size += 4 * ihl + 20;
	return frame;
}

static struct frame ipv6(uint8_t protocol, uint8_t client, uint16_t port)
{
	struct frame frame = tagged(0, 0x86dd);
	uint8_t *ip = frame.bytes + frame.size;

	ip[0] = 0x60;
	ip[6] = protocol;
	ip[8] = ip[24] = 0x20;
	ip[23] = client;
	ip[40] = (uint8_t)(port >> 8);
	ip[41] = (uint8_t)port;
	frame.size += 60;
	return frame;
}

static uint32_t hash(struct frame frame)
{
	return distribute_hash(frame.bytes, frame.size, SEED);
}

static void test_addresses_and_ports_change_the_hash(void **state)
{
	(void)state;
	assert_int_equal(hash(ipv4(0, 5, 0, 6, 1, 1000)), hash(ipv4(0, 5, 0, 6, 1, 1000)));
	assert_int_not_equal(hash(ipv4(0, 5, 0, 6, 1, 1000)), hash(ipv4(0, 5, 0, 6, 1, 1001)));
	assert_int_not_equal(hash(ipv4(0, 5, 0, 17, 1, 1000)), hash(ipv4(0, 5, 0, 17, 2, 1000)));
	assert_int_not_equal(hash(ipv6(6, 1, 1000)), hash(ipv6(6, 1, 1001)));
	assert_int_not_equal(hash(ipv6(17, 1, 1000)), hash(ipv6(17, 2, 1000)));
}

static void test_tags_and_options_do_not_change_the_hash(void **state)
{
	uint32_t expected = hash(ipv4(0, 5, 0, 6, 1, 1000));

	(void)state;
	assert_int_equal(hash(ipv4(1, 5, 0, 6, 1, 1000)), expected);
	assert_int_equal(hash(ipv4(2, 5, 0, 6, 1, 1000)), expected);
	assert_int_equal(hash(ipv4(0, 15, 0, 6, 1, 1000)), expected);
}

static void test_fragments_of_a_packet_stay_together(void **state)
{
	uint32_t first = hash(ipv4(0, 5, 0x2000, 17, 1, 1000));

	(void)state;
	assert_int_equal(hash(ipv4(0, 5, 0x2001, 17, 1, 4711)), first);
	assert_int_equal(hash(ipv4(0, 5, 0x00ff, 17, 1, 4712)), first);
	assert_int_equal(hash(ipv4(0, 5, 0x4000, 17, 1, 1000)), hash(ipv4(0, 5, 0, 17, 1, 1000))); /* DF */
}

static void test_other_protocols_have_no_ports(void **state)
{
	(void)state;
	assert_int_equal(hash(ipv4(0, 5, 0, 1, 1, 1000)), hash(ipv4(0, 5, 0, 1, 1, 1001)));
	assert_int_equal(hash(ipv6(58, 1, 1000)), hash(ipv6(58, 1, 1001)));
}

static void test_nothing_beyond_a_short_frame_is_read(void **state)
{
	struct frame frames[] = {ipv4(2, 15, 0, 6, 1, 1000), ipv4(0, 5, 0, 6, 1, 1000), ipv6(6, 1, 1000)};

	(void)state;
	for (unsigned i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		for (uint32_t size = 0; size <= frames[i].size; size++) {
			uint8_t *at = guarded_end() - size;

			memcpy(at, frames[i].bytes, size);
			distribute_hash(at, size, SEED);
		}
	}
}

/* With 6000 flows and 3 lcores, each lcore gets 2000 plus or minus six times the standard deviation of 37. */
static void test_flows_are_distributed_evenly(void **state)
{
	unsigned shares[3] = {0};

	(void)state;
	for (unsigned client = 0; client < 60; client++)
		for (unsigned port = 0; port < 100; port++)
			shares[(uint64_t)hash(ipv4(0, 5, 0, 6, (uint8_t)client, (uint16_t)port)) * 3 >> 32]++;
	for (unsigned i = 0; i < 3; i++)
		assert_in_range(shares[i], 1780, 2220);
}

static void test_another_seed_distributes_differently(void **state)
{
	struct frame frame = ipv4(0, 5, 0, 6, 1, 1000);

	(void)state;
	assert_int_not_equal(hash(frame), distribute_hash(frame.bytes, frame.size, SEED + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_and_ports_change_the_hash),
		cmocka_unit_test(test_tags_and_options_do_not_change_the_hash),
		cmocka_unit_test(test_fragments_of_a_packet_stay_together),
		cmocka_unit_test(test_other_protocols_have_no_ports),
		cmocka_unit_test(test_nothing_beyond_a_short_frame_is_read),
		cmocka_unit_test(test_flows_are_distributed_evenly),
		cmocka_unit_test(test_another_seed_distributes_differently),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
