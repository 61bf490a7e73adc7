/* SPDX-License-Identifier: BSD-3-Clause */
/* All stages of the general path: verdicts, bytes, and the memory that they may access. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <cmocka.h>

#include "packet/pipeline.h"
#include "packet/icmp/too_big.h"
#include "tests/unit/guarded.h"
#include "tests/unit/handmade.h"
#include "tests/unit/packets.h"
#include "tests/unit/random.h"

static struct routes *routes;
static struct steering_config steering;
static struct next_hops next_hops;
static struct pipeline pipeline;
static struct too_big_limit limit;
static struct burst burst;

/* Table 0 has binds for VIP and VIP6, TCP port 80. Both tables cover 10.10.10.11. All rows have two hops. */
static int set_up(void **state)
{
	struct table_set set = {0};

	(void)state;
	handmade_table(&set, 100, 2);
	handmade_table(&set, 100, 2);
	handmade_bind(&set, 0, "10.10.10.10/31", TABLE_TCP, 80, 80);
	handmade_bind(&set, 0, VIP6, TABLE_TCP, 80, 80);
	handmade_bind(&set, 1, "10.10.10.11", TABLE_TCP, 81, 81);
	routes = handmade_routes(&set);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	routes_free(routes);
	return 0;
}

static int reset(void **state)
{
	(void)state;
	steering = (struct steering_config){
		.hash_fields = STEERING_SOURCE_ADDRESS, .forward_ping = true, .outbound_mtu = 1500};
	next_hops = (struct next_hops){.single = true, .mac = 0xfe0000000002};
	pipeline = (struct pipeline){
		.routes = routes,
		.next_hops = &next_hops,
		.steering = &steering,
		.outer = {.source_mac = {2, 0, 0, 0, 0, 1}, .source_ip = inet_addr("192.0.2.1")},
		.too_big_limit = &limit,
	};
	too_big_limit_init(&limit, (uint8_t[SIPHASH_KEY_SIZE]){0}, 0);
	return 0;
}

static void put(uint32_t lane, uint8_t *frame, uint32_t headroom, uint32_t readable, uint32_t size)
{
	burst.frame[lane] = frame;
	burst.headroom[lane] = headroom;
	burst.readable[lane] = readable;
	burst.size[lane] = size;
	burst.count = lane + 1;
}

/* Runs a packet whose frame ends at the guard page. No byte before its headroom may change. */
static enum verdict run(const struct packet *packet)
{
	uint8_t *frame;

	memset(guarded_begin(), 0xa5, GUARDED_SIZE);
	frame = guarded_copy(packet->bytes, packet->size);
	put(0, frame, BURST_HEADROOM, packet->size, packet->size);
	pipeline_run(&pipeline, &burst);
	for (uint8_t *at = guarded_begin(); at < frame - BURST_HEADROOM; at++)
		assert_int_equal(*at, 0xa5);
	return burst.verdict[0];
}

static void assert_verdict(const struct packet *packet, enum verdict expected)
{
	assert_string_equal(verdict_name(run(packet)), verdict_name(expected));
	if (expected == VERDICT_FORWARDED || expected == VERDICT_ANSWERED_TOO_BIG)
		assert_non_null(burst.out[0]);
	else
		assert_null(burst.out[0]);
}

/* An IP packet of `size` bytes to the VIP. It has DF in IPv4. */
static struct packet sized(bool v6, uint32_t size)
{
	struct packet packet = v6 ? packet_tcp6(1234, 80) : packet_tcp4(1234, 80);

	packet_append(&packet, size - (packet.size - 14));
	if (!v6)
		store_be16(packet.bytes + 20, NET_DONT_FRAGMENT);
	return packet;
}

static void test_forwarded_frame_is_outer_headers_and_unchanged_packet(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);
	uint8_t *out;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		*packet_append(&packet, 1) = (uint8_t)i;
	assert_verdict(&packet, VERDICT_FORWARDED);
	out = burst.out[0];
	assert_int_equal(burst.out_size[0], 14 + 40 + 140);
	assert_ptr_equal(out + burst.out_size[0], burst.frame[0] + packet.size);
	assert_memory_equal(out, &next_hops.mac, 6);
	assert_memory_equal(out + 6, pipeline.outer.source_mac, 6);
	assert_int_equal(load_be16(out + 12), 0x0800);
	assert_int_equal(load_be16(out + 16), 40 + 140);
	assert_memory_equal(out + 26, &pipeline.outer.source_ip, 4);
	assert_memory_equal(out + 30, &burst.hops[0][0], 4);
	assert_memory_equal(out + 50, &burst.hops[0][1], 4);
	assert_memory_equal(out + 54, packet.bytes + 14, 140);
}

static void test_outer_source_port_mixes_hash_and_hint(void **state)
{
	(void)state;
	for (uint32_t port = 0; port < 0x10000; port += 257) {
		struct packet packet = packet_tcp4((uint16_t)port, 80);

		assert_verdict(&packet, VERDICT_FORWARDED);
		assert_int_equal(load_be16(burst.out[0] + 34), 0x8000 | ((burst.hash[0] ^ port) & 0x7fff));
	}
}

static void test_inner_protocol_follows_the_family(void **state)
{
	struct packet v4 = packet_tcp4(1234, 80), v6 = packet_tcp6(1234, 80);

	(void)state;
	assert_verdict(&v4, VERDICT_FORWARDED);
	assert_int_equal(burst.out[0][43], 4);
	assert_verdict(&v6, VERDICT_FORWARDED);
	assert_int_equal(burst.out[0][43], 41);
}

static void test_tags_and_padding_are_not_forwarded(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	packet_tag(&packet, 0x88a8);
	packet_tag(&packet, 0x8100);
	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_TCP);
	packet_ports(&packet, 20, 1234, 80);
	packet_padding(&packet, 18);
	assert_verdict(&packet, VERDICT_FORWARDED);
	assert_int_equal(burst.out_size[0], 54 + 40);
	assert_memory_equal(burst.out[0] + 54, packet.bytes + 22, 40);
	assert_int_equal(load_be16(burst.out[0] + 12), 0x0800);
}

static void test_unmatched_packets_are_dropped_without_an_exception_path(void **state)
{
	struct packet packet = packet_tcp4(1234, 79);

	(void)state;
	assert_verdict(&packet, VERDICT_DROP_UNMATCHED);
	store_be16(packet.bytes + 12, 0x0806);
	assert_verdict(&packet, VERDICT_DROP_UNMATCHED);
}

static void test_unmatched_packets_take_the_exception_path_unchanged(void **state)
{
	struct packet packets[] = {packet_tcp4(1234, 79), packet_tcp4(1234, 79), packet_error6(135)};

	(void)state;
	steering.exception_path = true;
	store_be16(packets[1].bytes + 12, 0x0806);
	for (unsigned i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		assert_verdict(&packets[i], VERDICT_EXCEPTION);
		assert_memory_equal(burst.frame[0], packets[i].bytes, packets[i].size);
		for (unsigned before = 1; before <= BURST_HEADROOM; before++)
			assert_int_equal(burst.frame[0][-(int)before], 0xa5);
	}
}

static void test_pings_and_their_fragments_are_unmatched_if_pings_are_not_forwarded(void **state)
{
	struct packet ping4 = packet_ethernet(), ping6 = packet_ethernet(), later4 = packet_ethernet();
	struct packet later6 = packet_ethernet(), error = packet_error4(3), tcp = packet_tcp4(1234, 80);
	const struct packet *pings[] = {&ping4, &ping6, &later4, &later6};

	(void)state;
	packet_ipv4(&ping4, CLIENT, VIP, IPPROTO_ICMP);
	packet_icmp(&ping4, 8, 0);
	packet_ipv6(&ping6, CLIENT6, VIP6, IPPROTO_ICMPV6);
	packet_icmp(&ping6, 128, 0);
	store_be16(packet_ipv4(&later4, CLIENT, VIP, IPPROTO_ICMP) + 6, 1);
	packet_append(&later4, 8);
	packet_ipv6(&later6, CLIENT6, VIP6, IPPROTO_FRAGMENT);
	packet_fragment(&later6, IPPROTO_ICMPV6, 1, false);
	packet_append(&later6, 8);
	for (unsigned i = 0; i < 4; i++) {
		steering.forward_ping = true;
		assert_verdict(pings[i], VERDICT_FORWARDED);
		steering.forward_ping = false;
		assert_verdict(pings[i], VERDICT_DROP_UNMATCHED);
	}
	packet_ipv4(&error, VIP, CLIENT, IPPROTO_TCP); /* errors and other fragments are not pings */
	packet_ports(&error, 8, 80, 1234);
	assert_verdict(&error, VERDICT_FORWARDED);
	store_be16(tcp.bytes + 20, 1);
	assert_verdict(&tcp, VERDICT_FORWARDED);
}

static void test_other_dropped_packets_do_not_take_the_exception_path(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	steering.exception_path = true;
	packet.bytes[14] = 0x44;
	assert_verdict(&packet, VERDICT_DROP_MALFORMED);
	packet.size = 20;
	assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
}

static void test_dropped_frames_are_unchanged(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	packet.bytes[14] = 0x44;
	assert_verdict(&packet, VERDICT_DROP_MALFORMED);
	assert_memory_equal(burst.frame[0], packet.bytes, packet.size);
}

static void test_more_than_eight_extension_headers_are_dropped(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_DSTOPTS);
	for (int i = 0; i < 9; i++)
		packet_extension(&packet, i < 8 ? IPPROTO_DSTOPTS : IPPROTO_TCP, 0);
	packet_ports(&packet, 20, 1234, 80);
	assert_verdict(&packet, VERDICT_DROP_EXTENSION_HEADERS);
}

static void test_later_fragment_is_forwarded_by_its_addresses_or_dropped(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	store_be16(packet.bytes + 20, 100);
	assert_verdict(&packet, VERDICT_FORWARDED);
	assert_int_equal(load_be16(burst.out[0] + 34), 0x8000 | (burst.hash[0] & 0x7fff));
	packet_address(packet.bytes + 30, "10.10.10.11");
	assert_verdict(&packet, VERDICT_DROP_FRAGMENT);
}

static void test_nothing_is_sent_before_the_next_hop_is_known(void **state)
{
	struct packet packet = packet_tcp4(1234, 80), big = sized(false, 1461);

	(void)state;
	next_hops.mac = 0;
	steering.send_too_big = true;
	assert_verdict(&packet, VERDICT_DROP_NO_NEXT_HOP);
	assert_verdict(&big, VERDICT_DROP_NO_NEXT_HOP);
	packet.bytes[14] = 0x44; /* other verdicts do not depend on the next hop */
	assert_verdict(&packet, VERDICT_DROP_MALFORMED);
}

static void test_frame_without_headroom_is_dropped_unchanged(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);
	uint8_t *frame = guarded_copy(packet.bytes, packet.size);

	(void)state;
	put(0, frame, ROUTES_LEAST_HEADROOM - 1, packet.size, packet.size);
	pipeline_run(&pipeline, &burst);
	assert_int_equal(burst.verdict[0], VERDICT_DROP_NO_BUFFER);
	assert_null(burst.out[0]);
	assert_memory_equal(frame, packet.bytes, packet.size);
	put(0, frame, ROUTES_LEAST_HEADROOM, packet.size, packet.size);
	pipeline_run(&pipeline, &burst);
	assert_int_equal(burst.verdict[0], VERDICT_FORWARDED);
}

static void test_mtu_limits_the_outer_packet(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct packet fits = sized(v6, 1460), exceeds = sized(v6, 1461);

		assert_verdict(&fits, VERDICT_FORWARDED);
		assert_int_equal(load_be16(burst.out[0] + 16), 1500);
		assert_verdict(&exceeds, VERDICT_DROP_TOO_BIG);
	}
}

static void test_mtu_check_counts_the_hops_of_each_packet(void **state)
{
	struct packet packet = sized(false, 1456);

	(void)state;
	steering.alt_hash_fields = STEERING_SOURCE_PORT;
	for (uint16_t port = 0; port < 2000; port++) {
		store_be16(packet.bytes + 34, port);
		assert_verdict(&packet, run(&packet));
		assert_int_equal(burst.verdict[0], burst.hop_count[0] <= 3 ? VERDICT_FORWARDED : VERDICT_DROP_TOO_BIG);
	}
}

static void test_padding_does_not_count_for_the_mtu(void **state)
{
	struct packet packet = sized(false, 1460);

	(void)state;
	packet_padding(&packet, 100);
	assert_verdict(&packet, VERDICT_FORWARDED);
}

static void test_packet_over_the_mtu_gets_a_too_big_reply(void **state)
{
	struct packet v4 = sized(false, 1461), v6 = sized(true, 1461);

	(void)state;
	steering.send_too_big = true;
	assert_verdict(&v4, VERDICT_ANSWERED_TOO_BIG);
	assert_int_equal(burst.out_size[0], 14 + 576);
	assert_int_equal(load_be32(burst.out[0] + 38), 1460);
	assert_memory_equal(burst.out[0] + 26, v4.bytes + 30, 4); /* from the VIP */
	assert_memory_equal(burst.out[0] + 30, v4.bytes + 26, 4);
	assert_verdict(&v6, VERDICT_ANSWERED_TOO_BIG);
	assert_int_equal(burst.out_size[0], 14 + 1280);
	assert_int_equal(load_be32(burst.out[0] + 58), 1460);
	assert_int_equal(limit.total.tokens, TOO_BIG_LIMIT_PER_SECOND - 2);
}

static void test_too_big_reply_does_not_quote_padding(void **state)
{
	struct packet packet = sized(false, 545);

	(void)state;
	steering.send_too_big = true;
	steering.outbound_mtu = 576;
	packet_padding(&packet, 64);
	assert_verdict(&packet, VERDICT_ANSWERED_TOO_BIG);
	assert_int_equal(burst.out_size[0], 14 + 28 + 545);
}

static void test_too_big_reply_quotes_only_readable_bytes(void **state)
{
	struct packet packet = sized(false, 5000);

	(void)state;
	steering.send_too_big = true;
	put(0, guarded_copy(packet.bytes, 100), BURST_HEADROOM, 100, packet.size);
	pipeline_run(&pipeline, &burst);
	assert_int_equal(burst.verdict[0], VERDICT_ANSWERED_TOO_BIG);
	assert_int_equal(burst.out_size[0], 14 + 28 + 86);
}

static void test_too_big_replies_are_limited(void **state)
{
	struct packet packet = sized(false, 1461);

	(void)state;
	steering.send_too_big = true;
	limit.total.tokens = 2;
	assert_verdict(&packet, VERDICT_ANSWERED_TOO_BIG);
	assert_verdict(&packet, VERDICT_ANSWERED_TOO_BIG);
	assert_verdict(&packet, VERDICT_DROP_TOO_BIG);
	assert_int_equal(burst.refusal[0], TOO_BIG_LIMITED);
	assert_int_equal(limit.total.tokens, 0);
}

static void test_icmp_errors_and_fragments_get_no_too_big_reply(void **state)
{
	struct packet error = packet_error4(3), fragment = sized(false, 1461), later = sized(false, 1461);
	struct packet atomic = packet_ethernet(), ping = packet_ethernet();

	(void)state;
	steering.send_too_big = true;
	packet_ipv4(&error, VIP, CLIENT, IPPROTO_TCP);
	packet_ports(&error, 1461, 80, 1234);
	store_be16(error.bytes + 20, NET_DONT_FRAGMENT);
	assert_verdict(&error, VERDICT_DROP_TOO_BIG);
	store_be16(fragment.bytes + 20, NET_DONT_FRAGMENT | 0x2000);
	assert_verdict(&fragment, VERDICT_DROP_TOO_BIG);
	store_be16(later.bytes + 20, NET_DONT_FRAGMENT | 1);
	assert_verdict(&later, VERDICT_DROP_TOO_BIG);
	packet_ipv6(&atomic, CLIENT6, VIP6, IPPROTO_FRAGMENT);
	packet_fragment(&atomic, IPPROTO_TCP, 0, false);
	packet_ports(&atomic, 1461, 1234, 80);
	assert_verdict(&atomic, VERDICT_DROP_TOO_BIG);
	assert_int_equal(limit.total.tokens, TOO_BIG_LIMIT_PER_SECOND);
	store_be16(packet_ipv4(&ping, CLIENT, VIP, IPPROTO_ICMP) + 6, NET_DONT_FRAGMENT);
	packet_icmp(&ping, 8, 0);
	packet_append(&ping, 1461);
	assert_verdict(&ping, VERDICT_ANSWERED_TOO_BIG);
}

static void test_nothing_is_written_before_the_headroom(void **state)
{
	struct packet packets[] = {packet_tcp4(1234, 80), packet_tcp6(1234, 80), sized(true, 1461)};

	(void)state;
	steering.alt_hash_fields = STEERING_SOURCE_PORT;
	steering.send_too_big = true;
	for (unsigned i = 0; i < 3; i++) {
		/* The headroom begins right after the guard page. */
		uint8_t *frame = guarded_begin() + BURST_HEADROOM;

		memcpy(frame, packets[i].bytes, packets[i].size);
		put(0, frame, BURST_HEADROOM, packets[i].size, packets[i].size);
		pipeline_run(&pipeline, &burst);
		assert_int_equal(burst.verdict[0], i < 2 ? VERDICT_FORWARDED : VERDICT_ANSWERED_TOO_BIG);
	}
}

/* The outer headers overwrite the tags, too: those that a driver has taken out, and that are in the frame again, left it
 * with less headroom. */
static void test_tags_make_up_for_headroom(void **state)
{
	struct table_set set = {0};
	struct routes *six;

	(void)state;
	handmade_table(&set, 100, ENCAPSULATE_MAX_IPV6);
	handmade_ipv6(&set.tables[0]);
	handmade_bind(&set, 0, "10.10.10.10", TABLE_TCP, 80, 80);
	pipeline.routes = six = handmade_routes(&set);
	steering.admission.outbound_vlan = 7;
	for (uint32_t tags = 0; tags <= 2; tags++) {
		struct packet packet = packet_ethernet();
		uint32_t enough = BURST_HEADROOM - NET_TAG_SIZE * tags;

		for (uint32_t i = 0; i < tags; i++)
			packet_tag(&packet, 0x8100);
		packet_ipv4(&packet, CLIENT, VIP, IPPROTO_TCP);
		packet_ports(&packet, 20, 1234, 80);
		for (uint32_t headroom = enough; headroom >= enough - 1; headroom--) {
			uint8_t *frame = guarded_begin() + headroom;

			memcpy(frame, packet.bytes, packet.size);
			put(0, frame, headroom, packet.size, packet.size);
			pipeline_run(&pipeline, &burst);
			assert_int_equal(
				burst.verdict[0], headroom == enough ? VERDICT_FORWARDED : VERDICT_DROP_NO_BUFFER);
		}
	}
	routes_free(six);
}

static void test_only_readable_bytes_are_accessed(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	packet_append(&packet, 400);
	for (uint32_t readable = 0; readable <= packet.size; readable++) {
		put(0, guarded_copy(packet.bytes, readable), BURST_HEADROOM, readable, packet.size);
		pipeline_run(&pipeline, &burst);
		assert_int_equal(burst.verdict[0], readable < 54 ? VERDICT_DROP_TRUNCATED : VERDICT_FORWARDED);
		if (burst.out[0])
			assert_int_equal(burst.out_size[0], 54 + 440);
	}
}

static void test_every_lane_has_its_own_verdict(void **state)
{
	static uint8_t room[BURST_MAX][BURST_HEADROOM + 200];
	static const enum verdict expected[] = {
		VERDICT_FORWARDED, VERDICT_DROP_UNMATCHED, VERDICT_DROP_MALFORMED, VERDICT_DROP_TRUNCATED};

	(void)state;
	for (uint32_t lane = 0; lane < BURST_MAX; lane++) {
		struct packet packet = packet_tcp4((uint16_t)lane, lane % 4 == 1 ? 79 : 80);

		packet.bytes[14] = lane % 4 == 2 ? 0x44 : 0x45;
		packet.size -= lane % 4 == 3;
		memcpy(room[lane] + BURST_HEADROOM, packet.bytes, packet.size);
		put(lane, room[lane] + BURST_HEADROOM, BURST_HEADROOM, packet.size, packet.size);
	}
	pipeline_run(&pipeline, &burst);
	for (uint32_t lane = 0; lane < BURST_MAX; lane++) {
		assert_int_equal(burst.verdict[lane], expected[lane % 4]);
		if (lane % 4)
			assert_null(burst.out[lane]);
		else
			assert_int_equal(load_be16(burst.out[lane] + 54 + 20), lane); /* the source port of this lane */
	}
}

static void test_empty_burst_is_allowed(void **state)
{
	(void)state;
	burst.count = 0;
	pipeline_run(&pipeline, &burst);
}

/*
 * Guard pages and sanitizers detect accesses outside a frame. The size of a forwarded frame must agree with its
 * headers.
 */
static void test_nothing_outside_damaged_frames_is_accessed(void **state)
{
	(void)state;
	srandom(31);
	steering.send_too_big = true;
	steering.alt_hash_fields = STEERING_SOURCE_PORT;
	pipeline.too_big_limit = NULL;
	for (int i = 0; i < CASES(30000); i++) {
		struct packet packet = i % 2 ? packet_error4(3) : packet_error6(2);

		if (i % 2)
			packet_ipv4(&packet, VIP, CLIENT, IPPROTO_TCP);
		else
			packet_ipv6(&packet, VIP6, CLIENT6, IPPROTO_TCP);
		packet_ports(&packet, i % 3 ? 8 : 1461, 80, 1234);
		if (i % 5 == 0)
			packet = sized(i % 2, 1500);
		packet.size -= random() % 3 ? 0 : (uint32_t)random() % packet.size;
		for (int flips = (int)(random() % 3); flips > 0 && packet.size > 60; flips--)
			packet.bytes[12 + random() % 48] = (uint8_t)random();
		run(&packet);
		if (burst.verdict[0] == VERDICT_FORWARDED)
			assert_int_equal(burst.out_size[0], 14u + load_be16(burst.out[0] + 16));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_forwarded_frame_is_outer_headers_and_unchanged_packet, reset),
		cmocka_unit_test_setup(test_outer_source_port_mixes_hash_and_hint, reset),
		cmocka_unit_test_setup(test_inner_protocol_follows_the_family, reset),
		cmocka_unit_test_setup(test_tags_and_padding_are_not_forwarded, reset),
		cmocka_unit_test_setup(test_unmatched_packets_are_dropped_without_an_exception_path, reset),
		cmocka_unit_test_setup(test_unmatched_packets_take_the_exception_path_unchanged, reset),
		cmocka_unit_test_setup(test_pings_and_their_fragments_are_unmatched_if_pings_are_not_forwarded, reset),
		cmocka_unit_test_setup(test_other_dropped_packets_do_not_take_the_exception_path, reset),
		cmocka_unit_test_setup(test_dropped_frames_are_unchanged, reset),
		cmocka_unit_test_setup(test_more_than_eight_extension_headers_are_dropped, reset),
		cmocka_unit_test_setup(test_later_fragment_is_forwarded_by_its_addresses_or_dropped, reset),
		cmocka_unit_test_setup(test_nothing_is_sent_before_the_next_hop_is_known, reset),
		cmocka_unit_test_setup(test_frame_without_headroom_is_dropped_unchanged, reset),
		cmocka_unit_test_setup(test_mtu_limits_the_outer_packet, reset),
		cmocka_unit_test_setup(test_mtu_check_counts_the_hops_of_each_packet, reset),
		cmocka_unit_test_setup(test_padding_does_not_count_for_the_mtu, reset),
		cmocka_unit_test_setup(test_packet_over_the_mtu_gets_a_too_big_reply, reset),
		cmocka_unit_test_setup(test_too_big_reply_does_not_quote_padding, reset),
		cmocka_unit_test_setup(test_too_big_reply_quotes_only_readable_bytes, reset),
		cmocka_unit_test_setup(test_too_big_replies_are_limited, reset),
		cmocka_unit_test_setup(test_icmp_errors_and_fragments_get_no_too_big_reply, reset),
		cmocka_unit_test_setup(test_nothing_is_written_before_the_headroom, reset),
		cmocka_unit_test_setup(test_tags_make_up_for_headroom, reset),
		cmocka_unit_test_setup(test_only_readable_bytes_are_accessed, reset),
		cmocka_unit_test_setup(test_every_lane_has_its_own_verdict, reset),
		cmocka_unit_test_setup(test_empty_burst_is_allowed, reset),
		cmocka_unit_test_setup(test_nothing_outside_damaged_frames_is_accessed, reset),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
