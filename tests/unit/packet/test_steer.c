/* SPDX-License-Identifier: BSD-3-Clause */
/* Table, hash, row and hops (docs/reference/steering.md#table), with tables whose rows are simple to predict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/byteorder.h"
#include "common/siphash.h"
#include "packet/steer.h"
#include "tests/unit/handmade.h"

static const struct flow flow4 = {
	.family = NETADDR_V4,
	.kind = FLOW_TRANSPORT,
	.protocol = TABLE_TCP,
	.source_port = 0x1234,
	.destination_port = 80,
	.source = {192, 0, 2, 33},
	.destination = {10, 0, 0, 1},
};
static const struct flow flow6 = {
	.family = NETADDR_V6,
	.kind = FLOW_TRANSPORT,
	.protocol = TABLE_UDP,
	.source_port = 0x1234,
	.destination_port = 443,
	.source = {0x20, 1, 0x0d, 0xb8, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	.destination = {0xfd, 0xb4, [15] = 1},
};

static struct routes *routes;
static struct burst burst;

/* Table 1 has 200 backends and rows of four hops. Tables 1 and 2 both cover 10.0.1.0/24. */
static int set_up(void **state)
{
	struct table_set set = {0};

	(void)state;
	handmade_table(&set, 1, 1);
	handmade_table(&set, 200, 4);
	handmade_table(&set, 3, 2);
	handmade_bind(&set, 0, "10.9.9.9", TABLE_TCP, 1, 1);
	handmade_bind(&set, 1, "10.0.0.0/16", TABLE_TCP, 80, 80);
	handmade_bind(&set, 1, "fdb4::/64", TABLE_UDP, 443, 443);
	handmade_bind(&set, 2, "10.0.1.0/24", TABLE_TCP, 81, 81);
	routes = handmade_routes(&set);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	routes_free(routes);
	return 0;
}

static void steer_lanes(uint64_t lanes, const struct steering_config *steering)
{
	steer_classify(&burst, lanes, routes, steering);
	steer_find_hops(&burst, lanes, routes, steering);
}

/* Steers the flow alone and in a lane of the burst. The results must be equal. */
static enum verdict steer_in_lane(uint32_t lane, const struct flow *flow, const struct steering_config *steering)
{
	struct steer_result alone = steer_flow(flow, routes, steering);

	burst.flow[lane] = *flow;
	burst.verdict[lane] = VERDICT_FORWARDED;
	burst.count = lane + 1;
	steer_lanes(1ull << lane, steering);
	assert_int_equal(alone.verdict, burst.verdict[lane]);
	if (alone.verdict == VERDICT_FORWARDED) {
		assert_int_equal(alone.table, burst.table[lane]);
		assert_int_equal(alone.hash, burst.hash[lane]);
		assert_int_equal(alone.row, burst.row[lane]);
		assert_int_equal(alone.hop_count, burst.hop_count[lane]);
		assert_memory_equal(alone.hops, burst.hops[lane], alone.hop_count * sizeof(alone.hops[0]));
	}
	return burst.verdict[lane];
}

static enum verdict steer(const struct flow *flow, uint8_t hash_fields, uint8_t alt_hash_fields)
{
	struct steering_config steering = {
		.hash_fields = hash_fields, .alt_hash_fields = alt_hash_fields, .forward_ping = true};

	return steer_in_lane(0, flow, &steering);
}

/* Concatenates the fields in the order of the reference, and hashes them. */
static uint64_t expected_hash(const struct flow *flow, uint8_t table, unsigned fields)
{
	size_t size = 0, address = flow->family == NETADDR_V4 ? 4 : 16;
	uint8_t key[16], message[36];

	memset(key, table, sizeof(key));
	if (fields & 1)
		for (size_t i = 0; i < address; i++)
			message[size++] = flow->source[i];
	if (fields & 2)
		for (size_t i = 0; i < address; i++)
			message[size++] = flow->destination[i];
	if (fields & 4) {
		message[size++] = (uint8_t)(flow->source_port >> 8);
		message[size++] = (uint8_t)flow->source_port;
	}
	if (fields & 8) {
		message[size++] = (uint8_t)(flow->destination_port >> 8);
		message[size++] = (uint8_t)flow->destination_port;
	}
	return siphash(key, message, size);
}

static void test_every_subset_of_hash_fields(void **state)
{
	(void)state;
	for (uint8_t fields = 1; fields < 16; fields++) {
		assert_int_equal(steer(&flow4, fields, 0), VERDICT_FORWARDED);
		assert_int_equal(burst.hash[0], expected_hash(&flow4, 1, fields));
		assert_int_equal(burst.row[0], burst.hash[0] & 0xffff);
		assert_int_equal(steer_hash(&flow4, routes, 2, fields), expected_hash(&flow4, 2, fields));
		assert_int_equal(steer(&flow6, fields, 0), VERDICT_FORWARDED);
		assert_int_equal(burst.hash[0], expected_hash(&flow6, 1, fields));
		assert_int_equal(burst.row[0], burst.hash[0] & 0xffff);
	}
}

static void assert_hop(uint32_t hop, uint32_t backend)
{
	assert_int_equal(burst.hops[0][hop], handmade_address(1, backend % 200));
}

static void test_hops_are_the_hops_of_the_row_in_order(void **state)
{
	(void)state;
	steer(&flow4, STEERING_SOURCE_ADDRESS, 0);
	assert_int_equal(burst.table[0], 1);
	assert_int_equal(burst.hop_count[0], 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_hop(i, burst.row[0] + i);
}

static void test_table_of_one_backend_has_one_hop(void **state)
{
	struct flow flow = flow4;

	(void)state;
	memcpy(flow.destination, (uint8_t[]){10, 9, 9, 9}, 4);
	flow.destination_port = 1;
	assert_int_equal(steer(&flow, STEERING_SOURCE_ADDRESS, STEERING_SOURCE_PORT), VERDICT_FORWARDED);
	assert_int_equal(burst.table[0], 0);
	assert_int_equal(burst.hop_count[0], 1);
	assert_int_equal(burst.hops[0][0], handmade_address(0, 0));
}

static void test_hops_by_alt_hash_fields_follow_the_hops_of_the_row(void **state)
{
	uint16_t row, alt;

	(void)state;
	steer(&flow4, STEERING_SOURCE_ADDRESS, STEERING_SOURCE_PORT);
	row = (uint16_t)expected_hash(&flow4, 1, STEERING_SOURCE_ADDRESS);
	alt = (uint16_t)expected_hash(&flow4, 1, STEERING_SOURCE_PORT);
	assert_in_range((alt - row + 200 * 400) % 200, 4, 196); /* the rows share no hop */
	assert_int_equal(burst.hash[0], expected_hash(&flow4, 1, STEERING_SOURCE_ADDRESS));
	assert_int_equal(burst.row[0], row);
	assert_int_equal(burst.hop_count[0], 8);
	for (uint32_t i = 0; i < 4; i++) {
		assert_hop(i, row + i);
		assert_hop(4 + i, alt + i);
	}
}

static void test_no_hop_occurs_twice(void **state)
{
	struct flow flow = flow4;
	unsigned seen = 0;

	(void)state;
	assert_int_equal(steer(&flow, STEERING_SOURCE_ADDRESS, STEERING_SOURCE_ADDRESS), VERDICT_FORWARDED);
	assert_int_equal(burst.hop_count[0], 4);
	/* Tries source ports, so that the two rows overlap by one to three hops on either side at some time. */
	for (uint32_t port = 0; port < 4096; port++) {
		uint32_t row, alt, count = 4;

		flow.source_port = (uint16_t)port;
		steer(&flow, STEERING_SOURCE_ADDRESS, STEERING_SOURCE_PORT);
		row = expected_hash(&flow, 1, STEERING_SOURCE_ADDRESS) & 0xffff;
		alt = expected_hash(&flow, 1, STEERING_SOURCE_PORT) & 0xffff;
		for (uint32_t i = 0; i < 4; i++) {
			if ((alt + i - row + 200 * 400) % 200 < 4)
				seen |= 1u << i;
			else
				assert_hop(count++, alt + i);
		}
		assert_int_equal(burst.hop_count[0], count);
	}
	assert_int_equal(seen, 0xf);
}

static void test_unmatched_flow_is_dropped(void **state)
{
	struct flow flow = flow4;

	(void)state;
	flow.destination_port = 79;
	assert_int_equal(steer(&flow, STEERING_SOURCE_ADDRESS, 0), VERDICT_DROP_UNMATCHED);
	flow.destination_port = 80;
	flow.protocol = TABLE_UDP;
	assert_int_equal(steer(&flow, STEERING_SOURCE_ADDRESS, 0), VERDICT_DROP_UNMATCHED);
}

static void test_unmatched_flow_takes_the_exception_path_if_there_is_one(void **state)
{
	struct steering_config steering = {.hash_fields = 15, .exception_path = true};
	struct flow flow = flow4;

	(void)state;
	assert_int_equal(steer_in_lane(0, &flow, &steering), VERDICT_FORWARDED);
	flow.destination_port = 79;
	assert_int_equal(steer_in_lane(0, &flow, &steering), VERDICT_EXCEPTION);
	flow.kind = FLOW_ECHO; /* pings are not forwarded */
	assert_int_equal(steer_in_lane(0, &flow, &steering), VERDICT_EXCEPTION);
	burst.verdict[0] = VERDICT_DROP_UNMATCHED; /* the verdict of the parser */
	steer_lanes(1, &steering);
	assert_int_equal(burst.verdict[0], VERDICT_EXCEPTION);
}

static void test_ping_is_unmatched_if_pings_are_not_forwarded(void **state)
{
	struct steering_config steering = {.hash_fields = STEERING_SOURCE_ADDRESS};
	struct flow flow = flow4;

	(void)state;
	flow.kind = FLOW_ECHO;
	assert_int_equal(steer_in_lane(0, &flow, &steering), VERDICT_DROP_UNMATCHED);
	steering.forward_ping = true;
	assert_int_equal(steer_in_lane(0, &flow, &steering), VERDICT_FORWARDED);
}

static void test_quoted_flow_matches_by_its_ports(void **state)
{
	struct flow flow = flow4;

	(void)state;
	flow.kind = FLOW_ICMP_ERROR;
	assert_int_equal(steer(&flow, 15, 0), VERDICT_FORWARDED);
	assert_int_equal(burst.hash[0], expected_hash(&flow4, 1, 15));
	flow.destination_port = 79;
	assert_int_equal(steer(&flow, 15, 0), VERDICT_DROP_UNMATCHED);
}

static void test_ping_matches_any_bind_of_its_address_and_hashes_ports_as_zero(void **state)
{
	struct flow flow = flow4;

	(void)state;
	flow.kind = FLOW_ECHO;
	flow.protocol = IPPROTO_ICMP;
	flow.source_port = flow.destination_port = 0;
	memcpy(flow.destination, (uint8_t[]){10, 0, 1, 1}, 4); /* covered by tables 1 and 2 */
	assert_int_equal(steer(&flow, 15, STEERING_SOURCE_PORT), VERDICT_FORWARDED);
	assert_int_equal(burst.table[0], 1);
	assert_int_equal(burst.hash[0], expected_hash(&flow, 1, 15));
	assert_int_equal(burst.hop_count[0], 8);
	flow.destination[0] = 11;
	assert_int_equal(steer(&flow, 15, 0), VERDICT_DROP_UNMATCHED);
}

static struct flow later_fragment(uint8_t third_byte)
{
	struct flow flow = flow4;

	flow.kind = FLOW_FRAGMENT;
	flow.source_port = flow.destination_port = 0;
	flow.destination[2] = third_byte;
	return flow;
}

static void test_later_fragment_is_steered_by_its_addresses(void **state)
{
	struct flow flow = later_fragment(0);

	(void)state;
	for (uint8_t fields = 1; fields < 4; fields++) {
		assert_int_equal(steer(&flow, fields, 0), VERDICT_FORWARDED);
		assert_int_equal(burst.table[0], 1);
		assert_int_equal(burst.hash[0], expected_hash(&flow4, 1, fields)); /* as for the first fragment */
	}
	flow.protocol = TABLE_UDP; /* the bind is for TCP, but any bind for the address matches */
	assert_int_equal(steer(&flow, STEERING_SOURCE_ADDRESS, 0), VERDICT_FORWARDED);
}

static void test_later_fragment_is_dropped_if_ports_are_hashed(void **state)
{
	struct flow flow = later_fragment(0);

	(void)state;
	for (uint8_t fields = 4; fields < 16; fields++)
		assert_int_equal(steer(&flow, fields, 0), VERDICT_DROP_FRAGMENT);
}

static void test_later_fragment_is_dropped_if_two_tables_cover_it(void **state)
{
	struct flow flow = later_fragment(1);

	(void)state;
	assert_int_equal(steer(&flow, STEERING_SOURCE_ADDRESS, 0), VERDICT_DROP_FRAGMENT);
}

static void test_later_fragment_is_unmatched_if_no_bind_covers_it(void **state)
{
	struct flow flow = later_fragment(0);

	(void)state;
	flow.destination[0] = 11;
	for (uint8_t fields = 1; fields < 16; fields++)
		assert_int_equal(steer(&flow, fields, 0), VERDICT_DROP_UNMATCHED);
}

static void test_later_fragment_gets_no_hops_by_alternative_hash_of_ports(void **state)
{
	struct flow flow = later_fragment(0);

	(void)state;
	for (uint8_t alt = 1; alt < 16; alt++) {
		assert_int_equal(steer(&flow, STEERING_SOURCE_ADDRESS, alt), VERDICT_FORWARDED);
		if (alt >= STEERING_SOURCE_PORT || alt == STEERING_SOURCE_ADDRESS)
			assert_int_equal(burst.hop_count[0], 4);
		else
			assert_in_range(burst.hop_count[0], 5, 8);
	}
}

static void test_lanes_are_steered_independently(void **state)
{
	struct steering_config steering = {.hash_fields = 15};

	(void)state;
	for (uint32_t lane = 0; lane < BURST_MAX; lane++) {
		struct flow flow = lane % 3 ? flow4 : flow6;

		flow.source_port = (uint16_t)lane;
		if (lane % 5 == 0)
			flow.destination_port = 79;
		steer_in_lane(lane, &flow, &steering);
	}
	for (uint32_t lane = 0; lane < BURST_MAX; lane++) {
		struct flow flow = lane % 3 ? flow4 : flow6;

		flow.source_port = (uint16_t)lane;
		if (lane % 5 == 0)
			assert_int_equal(burst.verdict[lane], VERDICT_DROP_UNMATCHED);
		else
			assert_int_equal(burst.hash[lane], expected_hash(&flow, 1, 15));
	}
}

static void test_lanes_with_another_verdict_are_unchanged(void **state)
{
	struct steering_config steering = {.hash_fields = 15};

	(void)state;
	for (uint8_t verdict = VERDICT_FORWARDED + 1; verdict < VERDICT_COUNT; verdict++) {
		burst.flow[0] = flow4;
		burst.verdict[0] = verdict;
		burst.count = 1;
		burst.table[0] = 0xee;
		burst.hash[0] = 0xee;
		burst.hop_count[0] = 0xee;
		steer_lanes(burst_lanes(&burst), &steering);
		assert_int_equal(burst.verdict[0], verdict);
		assert_int_equal(burst.table[0], 0xee);
		assert_int_equal(burst.hash[0], 0xee);
		assert_int_equal(burst.hop_count[0], 0xee);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_subset_of_hash_fields),
		cmocka_unit_test(test_hops_are_the_hops_of_the_row_in_order),
		cmocka_unit_test(test_table_of_one_backend_has_one_hop),
		cmocka_unit_test(test_hops_by_alt_hash_fields_follow_the_hops_of_the_row),
		cmocka_unit_test(test_no_hop_occurs_twice),
		cmocka_unit_test(test_unmatched_flow_is_dropped),
		cmocka_unit_test(test_unmatched_flow_takes_the_exception_path_if_there_is_one),
		cmocka_unit_test(test_ping_is_unmatched_if_pings_are_not_forwarded),
		cmocka_unit_test(test_quoted_flow_matches_by_its_ports),
		cmocka_unit_test(test_ping_matches_any_bind_of_its_address_and_hashes_ports_as_zero),
		cmocka_unit_test(test_later_fragment_is_steered_by_its_addresses),
		cmocka_unit_test(test_later_fragment_is_dropped_if_ports_are_hashed),
		cmocka_unit_test(test_later_fragment_is_dropped_if_two_tables_cover_it),
		cmocka_unit_test(test_later_fragment_is_unmatched_if_no_bind_covers_it),
		cmocka_unit_test(test_later_fragment_gets_no_hops_by_alternative_hash_of_ports),
		cmocka_unit_test(test_lanes_are_steered_independently),
		cmocka_unit_test(test_lanes_with_another_verdict_are_unchanged),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
