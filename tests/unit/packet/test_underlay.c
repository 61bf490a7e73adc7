/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMP errors about the director's own packets (docs/reference/steering.md#underlay). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/net.h"
#include "gue/gue_wire.h"
#include "packet/pipeline.h"
#include "tests/unit/guarded.h"
#include "tests/unit/handmade.h"
#include "tests/unit/packets.h"

#define OWN    "192.0.2.1"
#define ROUTER "203.0.113.1"
#define PROXY  "192.168.0.7"

#define OWN6    "2001:db8::1"
#define ROUTER6 "2001:db8:ffff::1"
#define PROXY6  "fd00::c0a8:207" /* backend 7 of the third table */

enum { IP = 14, ICMP = 34, QUOTE = 42, UDP = 62 }; /* offsets of the headers in message() */
enum { ICMP6 = 54, QUOTE6 = 62, UDP6 = 102 }; /* the same in message6() */

static struct routes *routes;
static struct steering_config steering;
static struct pipeline pipeline;
static struct burst burst;
static const struct next_hops next_hops = {.single = true, .mac = 0x020000000001};

static int set_up(void **state)
{
	struct table_set set = {0};

	(void)state;
	handmade_table(&set, 100, 2);
	handmade_table(&set, 9, 2);
	handmade_table(&set, 9, 2);
	handmade_ipv6(&set.tables[2]);
	handmade_bind(&set, 0, VIP, TABLE_TCP, 80, 80);
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
	steering = (struct steering_config){.hash_fields = STEERING_SOURCE_ADDRESS, .outbound_mtu = 1600};
	pipeline = (struct pipeline){
		.routes = routes,
		.steering = &steering,
		.outer.source_ip = inet_addr(OWN),
		.next_hops = &next_hops,
		.fast = lanes_plain,
	};
	packet_address(pipeline.outer.source_ip6, OWN6);
	return 0;
}

/* The router says that a GUE packet of 1600 bytes to the proxy exceeds its MTU. */
static struct packet message(uint16_t mtu)
{
	struct packet packet = packet_ethernet();

	packet_ipv4(&packet, ROUTER, OWN, IPPROTO_ICMP);
	store_be16(packet_icmp(&packet, 3, 4) + 6, mtu);
	store_be16(packet_ipv4(&packet, OWN, PROXY, IPPROTO_UDP) + 6, NET_DONT_FRAGMENT);
	packet_ports(&packet, 8, 0x8123, GUE_PORT);
	store_be16(packet.bytes + QUOTE + 2, 1600);
	return packet;
}

/* The same for a packet with outer IPv6. */
static struct packet message6(uint32_t mtu)
{
	struct packet packet = packet_ethernet();

	packet_ipv6(&packet, ROUTER6, OWN6, IPPROTO_ICMPV6);
	store_be32(packet_icmp(&packet, 2, 0) + 4, mtu);
	packet_ipv6(&packet, OWN6, PROXY6, IPPROTO_UDP);
	packet_ports(&packet, 8, 0x8123, GUE_PORT);
	store_be16(packet.bytes + QUOTE6 + 4, 1560);
	return packet;
}

static enum verdict run(const struct packet *packet)
{
	burst.count = 1;
	burst.frame[0] = guarded_copy(packet->bytes, packet->size);
	burst.headroom[0] = BURST_HEADROOM;
	burst.readable[0] = burst.size[0] = packet->size;
	pipeline_run(&pipeline, &burst);
	return burst.verdict[0];
}

static void assert_address(const struct netaddr *address, const char *expected)
{
	char text[NETADDR_TEXT_MAX];

	assert_string_equal(netaddr_format(address, text), expected);
}

static void assert_not_recognised(const struct packet *packet)
{
	assert_string_equal(verdict_name(run(packet)), "drop_unmatched");
	assert_null(burst.out[0]);
}

static void test_message_tells_router_proxy_and_mtu(void **state)
{
	struct packet packet = message(1500);

	(void)state;
	assert_string_equal(verdict_name(run(&packet)), "underlay_too_big");
	assert_null(burst.out[0]);
	assert_address(&burst.underlay[0].router, ROUTER);
	assert_address(&burst.underlay[0].backend, PROXY);
	assert_int_equal(burst.underlay[0].mtu, 1500);
	assert_false(burst.underlay[0].guessed);
}

static void test_icmpv6_message_tells_router_proxy_and_mtu(void **state)
{
	struct packet packet = message6(1500);

	(void)state;
	assert_string_equal(verdict_name(run(&packet)), "underlay_too_big");
	assert_null(burst.out[0]);
	assert_address(&burst.underlay[0].router, ROUTER6);
	assert_address(&burst.underlay[0].backend, PROXY6);
	assert_int_equal(burst.underlay[0].mtu, 1500);
	assert_false(burst.underlay[0].guessed);
	packet.bytes[ICMP6 + 1] = 9; /* receivers ignore the code */
	assert_string_equal(verdict_name(run(&packet)), "underlay_too_big");
}

static void test_each_wrong_field_of_icmpv6_makes_it_unmatched(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t value;
	} faults[] = {
		{IP + 8, 0xff}, /* from a multicast address */
		{IP + 39, 9}, /* to another address */
		{ICMP6, 1}, {ICMP6, 3}, {ICMP6, 4}, /* other errors */
		{QUOTE6, 0x45}, /* IPv4 in the quote */
		{QUOTE6 + 6, IPPROTO_TCP}, {QUOTE6 + 6, IPPROTO_DSTOPTS}, /* no UDP, or not at once */
		{QUOTE6 + 23, 2}, /* from another address */
		{QUOTE6 + 39, 100}, /* to an address that is no backend */
		{UDP6, 0x7f}, {UDP6 + 3, 0x44}, /* ports that the director does not use */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct packet packet = message6(1500);

		packet.bytes[faults[i].at] = faults[i].value;
		assert_string_not_equal(verdict_name(run(&packet)), "underlay_too_big");
	}
}

static void test_mtu_of_icmpv6_is_plausible(void **state)
{
	static const uint32_t wrong[] = {0, 1, 68, 1279, 1600, 65535, 65536 + 1500, UINT32_MAX}, right[] = {1280, 1599};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct packet packet = message6(wrong[i]);

		assert_not_recognised(&packet);
	}
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		struct packet packet = message6(right[i]);

		assert_string_equal(verdict_name(run(&packet)), "underlay_too_big");
		assert_int_equal(burst.underlay[0].mtu, right[i]);
	}
}

/* A director without an address of a family gets no message about it. */
static void test_unspecified_address_is_not_the_directors(void **state)
{
	struct packet packet = message6(1500), packet4 = message(1500);

	(void)state;
	memset(pipeline.outer.source_ip6, 0, 16);
	pipeline.outer.source_ip = 0;
	memset(packet.bytes + IP + 24, 0, 16);
	memset(packet.bytes + QUOTE6 + 8, 0, 16);
	memset(packet4.bytes + IP + 16, 0, 4);
	memset(packet4.bytes + QUOTE + 12, 0, 4);
	assert_not_recognised(&packet);
	assert_not_recognised(&packet4);
}

static void test_exception_path_does_not_get_the_message(void **state)
{
	struct packet packet = message(1500);

	(void)state;
	steering.exception_path = true;
	assert_string_equal(verdict_name(run(&packet)), "underlay_too_big");
	packet.bytes[ICMP + 1] = 1;
	assert_string_equal(verdict_name(run(&packet)), "exception");
}

static void test_tags_options_and_longer_quotes_do_not_matter(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	packet_tag(&packet, 0x8100);
	packet_ipv4(&packet, ROUTER, OWN, IPPROTO_ICMP);
	packet_options(&packet, 2);
	store_be16(packet_icmp(&packet, 3, 4) + 6, 1280);
	packet_ipv4(&packet, OWN, "192.168.1.8", IPPROTO_UDP); /* a backend of the second table */
	packet_ports(&packet, 500, 0xffff, GUE_PORT);
	packet_padding(&packet, 20);
	assert_string_equal(verdict_name(run(&packet)), "underlay_too_big");
	assert_int_equal(burst.underlay[0].mtu, 1280);
	assert_address(&burst.underlay[0].backend, "192.168.1.8");
}

static void test_each_wrong_field_makes_it_unmatched(void **state)
{
	static const struct {
		unsigned at;
		uint8_t value;
	} faults[] = {
		{IP + 6, 0x20}, /* a fragment */
		{IP + 19, 2}, /* to another address */
		{IP + 12, 127}, /* from loopback */
		{IP + 12, 224}, /* from a group */
		{ICMP, 11}, /* time exceeded */
		{ICMP + 1, 3}, /* port unreachable */
		{QUOTE + 6, 0x60}, /* a fragment */
		{QUOTE + 15, 2}, /* from another address */
		{QUOTE + 19, 100}, /* to an address that is no backend */
		{QUOTE + 9, IPPROTO_TCP}, {UDP, 0x7f}, /* a source port that the director does not use */
		{UDP + 3, 0x44}, /* to another port */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct packet packet = message(1500);

		packet.bytes[faults[i].at] = faults[i].value;
		assert_not_recognised(&packet);
	}
}

static void test_mtu_is_plausible(void **state)
{
	static const uint16_t wrong[] = {1, 67, 1600, 1601, 9000, 65535}, right[] = {68, 576, 1599};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct packet packet = message(wrong[i]);

		assert_not_recognised(&packet);
	}
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		struct packet packet = message(right[i]);

		assert_string_equal(verdict_name(run(&packet)), "underlay_too_big");
		assert_int_equal(burst.underlay[0].mtu, right[i]);
	}
}

static void test_without_an_mtu_the_next_plateau_is_guessed(void **state)
{
	static const uint16_t cases[][3] = {/* outbound_mtu, quoted length, guess */
		{1600, 1600, 1492}, {1600, 1493, 1492}, {1600, 1492, 1006}, {1600, 20, 1492}, {1600, 65535, 1492},
		{9216, 9216, 8166}, {9216, 4000, 2002}, {576, 576, 508}, {576, 69, 68}, {576, 68, 508}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct packet packet = message(0);

		steering.outbound_mtu = cases[i][0];
		store_be16(packet.bytes + QUOTE + 2, cases[i][1]);
		assert_string_equal(verdict_name(run(&packet)), "underlay_too_big");
		assert_int_equal(burst.underlay[0].mtu, cases[i][2]);
		assert_true(burst.underlay[0].guessed);
	}
}

static void test_a_bind_that_matches_comes_first(void **state)
{
	struct packet packet = packet_error4(3);

	(void)state;
	pipeline.outer.source_ip = inet_addr(VIP);
	packet_ipv4(&packet, VIP, PROXY, IPPROTO_TCP);
	packet_ports(&packet, 8, 80, GUE_PORT);
	assert_string_equal(verdict_name(run(&packet)), "forwarded");
}

/* Such a frame is not parsed, so its lane still has the flow of the frame before. */
static void test_a_broadcast_frame_after_a_message_is_only_a_broadcast_frame(void **state)
{
	struct packet packet = message(1500), broadcast = packet_ethernet();

	(void)state;
	steering.exception_path = true;
	steering.admission.accept = ADMISSION_EVERY_UNICAST;
	assert_string_equal(verdict_name(run(&packet)), "underlay_too_big");
	memset(packet.bytes, 0xff, 6);
	assert_string_equal(verdict_name(run(&packet)), "exception");
	memset(broadcast.bytes, 0xff, 6);
	packet.bytes[0] = 2;
	assert_string_equal(verdict_name(run(&packet)), "underlay_too_big");
	assert_string_equal(verdict_name(run(&broadcast)), "exception");
}

static void test_every_shorter_message_is_not_recognised(void **state)
{
	struct packet packet = message(1500);

	(void)state;
	for (uint32_t size = 0; size < packet.size; size++) {
		struct packet shorter = packet;

		shorter.size = size;
		if (size >= ICMP)
			store_be16(shorter.bytes + IP + 2, (uint16_t)(size - IP));
		assert_string_not_equal(verdict_name(run(&shorter)), "underlay_too_big");
	}
}

static void test_every_shorter_icmpv6_message_is_not_recognised(void **state)
{
	struct packet packet = message6(1500);

	(void)state;
	for (uint32_t size = 0; size < packet.size; size++) {
		struct packet shorter = packet;

		shorter.size = size;
		if (size >= ICMP6)
			store_be16(shorter.bytes + IP + 4, (uint16_t)(size - ICMP6));
		assert_string_not_equal(verdict_name(run(&shorter)), "underlay_too_big");
	}
}

/* Damaged messages never name a backend that is not in the tables, nor an MTU that is not plausible. */
static void test_damaged_messages_stay_plausible(void **state)
{
	unsigned recognised = 0;

	(void)state;
	srandom(12);
	for (int i = 0; i < 200000; i++) {
		uint16_t mtu = random() % 2 ? 1500 : (uint16_t)random();
		struct packet packet = i % 2 ? message(mtu) : message6(mtu);

		for (int flips = (int)(random() % 3); flips > 0; flips--)
			packet.bytes[IP + random() % (packet.size - IP)] ^= (uint8_t)(1 << random() % 8);
		packet.size -= random() % 8 ? 0 : (uint32_t)random() % packet.size;
		if (run(&packet) != VERDICT_UNDERLAY_TOO_BIG)
			continue;
		recognised++;
		assert_true(routes_has_backend(routes, &burst.underlay[0].backend));
		assert_in_range(burst.underlay[0].mtu, 68, 1599);
	}
	assert_true(recognised > 40000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_message_tells_router_proxy_and_mtu, reset),
		cmocka_unit_test_setup(test_icmpv6_message_tells_router_proxy_and_mtu, reset),
		cmocka_unit_test_setup(test_each_wrong_field_of_icmpv6_makes_it_unmatched, reset),
		cmocka_unit_test_setup(test_mtu_of_icmpv6_is_plausible, reset),
		cmocka_unit_test_setup(test_unspecified_address_is_not_the_directors, reset),
		cmocka_unit_test_setup(test_every_shorter_icmpv6_message_is_not_recognised, reset),
		cmocka_unit_test_setup(test_exception_path_does_not_get_the_message, reset),
		cmocka_unit_test_setup(test_tags_options_and_longer_quotes_do_not_matter, reset),
		cmocka_unit_test_setup(test_each_wrong_field_makes_it_unmatched, reset),
		cmocka_unit_test_setup(test_mtu_is_plausible, reset),
		cmocka_unit_test_setup(test_without_an_mtu_the_next_plateau_is_guessed, reset),
		cmocka_unit_test_setup(test_a_bind_that_matches_comes_first, reset),
		cmocka_unit_test_setup(test_a_broadcast_frame_after_a_message_is_only_a_broadcast_frame, reset),
		cmocka_unit_test_setup(test_every_shorter_message_is_not_recognised, reset),
		cmocka_unit_test_setup(test_damaged_messages_stay_plausible, reset),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
