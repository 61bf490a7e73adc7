/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packets get a too-big reply, and where the reply goes (docs/reference/steering.md#too-big-replies). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "packet/pipeline.h"
#include "packet/icmp/too_big.h"
#include "tests/unit/guarded.h"
#include "tests/unit/handmade.h"
#include "tests/unit/packets.h"

static struct routes *routes;
static struct steering_config steering;
static struct pipeline pipeline;
static struct burst burst;

/* The last binds cover nearly everything, so that each source and destination below reaches the rules. */
static int set_up(void **state)
{
	struct table_set set = {0};

	(void)state;
	handmade_table(&set, 100, 2);
	handmade_bind(&set, 0, VIP, TABLE_TCP, 80, 80);
	handmade_bind(&set, 0, VIP6, TABLE_TCP, 80, 80);
	handmade_bind(&set, 0, "198.18.0.0/24", TABLE_TCP, 443, 443);
	handmade_bind(&set, 0, "0.0.0.0/0", TABLE_TCP, 80, 80);
	handmade_bind(&set, 0, "::/0", TABLE_TCP, 80, 80);
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
	static const struct next_hops next_hops = {.single = true, .mac = 0xfe0000000002};

	(void)state;
	steering = (struct steering_config){
		.hash_fields = STEERING_SOURCE_ADDRESS, .forward_ping = true, .outbound_mtu = 576, .send_too_big = true};
	pipeline = (struct pipeline){
		.routes = routes,
		.steering = &steering,
		.next_hops = &next_hops,
		.outer = {.source_mac = {2, 0, 0, 0, 0, 1}, .source_ip = inet_addr("192.0.2.1")},
		.fast = lanes_plain,
	};
	return 0;
}

/* A TCP packet of 560 bytes. It has DF in IPv4. */
static struct packet between(const char *source, const char *destination)
{
	struct packet packet = packet_ethernet();

	if (strchr(source, ':'))
		packet_ipv6(&packet, source, destination, IPPROTO_TCP);
	else
		store_be16(packet_ipv4(&packet, source, destination, IPPROTO_TCP) + 6, NET_DONT_FRAGMENT);
	packet_ports(&packet, 20, 1234, 80);
	packet_append(&packet, 560 + 14 - packet.size);
	return packet;
}

static void run(const struct packet *packet)
{
	memset(guarded_begin(), 0xa5, GUARDED_SIZE);
	burst.count = 1;
	burst.frame[0] = guarded_copy(packet->bytes, packet->size);
	burst.headroom[0] = BURST_HEADROOM;
	burst.readable[0] = burst.size[0] = packet->size;
	pipeline_run(&pipeline, &burst);
}

static void assert_reply(const struct packet *packet)
{
	run(packet);
	assert_string_equal(verdict_name(burst.verdict[0]), "answered_too_big");
}

static void assert_refused(const struct packet *packet, enum too_big_refusal expected)
{
	run(packet);
	assert_string_equal(verdict_name(burst.verdict[0]), "drop_too_big");
	assert_int_equal(burst.refusal[0], expected);
	assert_null(burst.out[0]);
}

static void test_ordinary_clients_get_replies(void **state)
{
	static const char *const clients[][2] = {{CLIENT, VIP}, {CLIENT6, VIP6}, {"10.10.10.11", VIP},
		{"126.255.255.255", VIP}, {"128.0.0.0", VIP}, {"223.255.255.255", VIP}, {"1.0.0.0", VIP},
		{"192.0.2.2", VIP}, {"198.18.1.0", VIP}, {"fe80::1", VIP6}, {"0:0:0:1::2", VIP6}, {"fdb4::11", VIP6}};

	(void)state;
	for (size_t i = 0; i < sizeof(clients) / sizeof(*clients); i++) {
		struct packet packet = between(clients[i][0], clients[i][1]);

		assert_reply(&packet);
	}
}

static void test_sources_that_are_no_clients_get_no_reply(void **state)
{
	static const char *const sources[][2] = {{"0.0.0.0", VIP}, {"0.1.2.3", VIP}, {"127.0.0.1", VIP},
		{"127.255.255.255", VIP}, {"224.0.0.1", VIP}, {"239.1.2.3", VIP}, {"240.0.0.1", VIP},
		{"255.255.255.255", VIP}, {"::", VIP6}, {"::1", VIP6}, {"::2", VIP6}, {"::ffff:192.0.2.9", VIP6},
		{"ff02::1", VIP6}, {"ff0e::1", VIP6}};

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		struct packet packet = between(sources[i][0], sources[i][1]);

		assert_refused(&packet, TOO_BIG_FORBIDDEN);
	}
}

static void test_own_addresses_get_no_reply(void **state)
{
	static const char *const sources[][2] = {{"192.0.2.1", VIP}, {VIP, VIP}, {VIP, "10.10.10.11"}, {VIP6, VIP6},
		{VIP6, "fdb4::11"}, {"198.18.0.77", VIP}, {"203.0.113.9", "203.0.113.9"}};

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		struct packet packet = between(sources[i][0], sources[i][1]);

		assert_refused(&packet, TOO_BIG_FORBIDDEN);
	}
}

static void test_packets_to_groups_get_no_reply(void **state)
{
	static const char *const destinations[][2] = {{CLIENT, "224.0.0.5"}, {CLIENT, "239.255.0.1"},
		{CLIENT, "255.255.255.255"}, {CLIENT, "127.0.0.1"}, {CLIENT6, "ff02::5"}};

	(void)state;
	for (size_t i = 0; i < sizeof(destinations) / sizeof(*destinations); i++) {
		struct packet packet = between(destinations[i][0], destinations[i][1]);

		assert_refused(&packet, TOO_BIG_FORBIDDEN);
	}
}

static void test_frames_to_or_from_groups_get_no_reply(void **state)
{
	struct packet packet = between(CLIENT, VIP), packet6 = between(CLIENT6, VIP6);

	(void)state;
	memset(packet.bytes, 0xff, 6);
	assert_refused(&packet, TOO_BIG_FORBIDDEN);
	memcpy(packet.bytes, (uint8_t[]){0x01, 0, 0x5e, 1, 2, 3}, 6);
	assert_refused(&packet, TOO_BIG_FORBIDDEN);
	memcpy(packet6.bytes, (uint8_t[]){0x33, 0x33, 0, 0, 0, 1}, 6);
	assert_refused(&packet6, TOO_BIG_FORBIDDEN);
	memcpy(packet6.bytes, (uint8_t[]){2, 0, 0, 0, 0, 1, 0x33, 0x33, 0, 0, 0, 1}, 12);
	assert_refused(&packet6, TOO_BIG_FORBIDDEN);
}

static void test_ipv4_packets_without_df_get_no_reply_unless_configured(void **state)
{
	struct packet packet = between(CLIENT, VIP);

	(void)state;
	store_be16(packet.bytes + 20, 0);
	assert_refused(&packet, TOO_BIG_WITHOUT_DF);
	store_be16(packet.bytes + 20, 0x8000); /* the reserved bit */
	assert_refused(&packet, TOO_BIG_WITHOUT_DF);
	steering.reply_without_df = true;
	assert_reply(&packet);
	store_be16(packet.bytes + 20, 0x2000);
	assert_refused(&packet, TOO_BIG_FORBIDDEN);
	steering.send_too_big = false;
	store_be16(packet.bytes + 20, 0);
	assert_refused(&packet, TOO_BIG_OFF);
}

static void test_refused_packets_use_up_no_replies(void **state)
{
	static struct too_big_limit limit;
	struct packet martian = between("127.0.0.1", VIP), without_df = between(CLIENT, VIP);
	static const uint8_t key[SIPHASH_KEY_SIZE];

	(void)state;
	too_big_limit_init(&limit, key, 0);
	pipeline.too_big_limit = &limit;
	store_be16(without_df.bytes + 20, 0);
	for (unsigned i = 0; i < 2000; i++) {
		assert_refused(&martian, TOO_BIG_FORBIDDEN);
		assert_refused(&without_df, TOO_BIG_WITHOUT_DF);
	}
	assert_int_equal(limit.total.tokens, TOO_BIG_LIMIT_PER_SECOND);
}

static void test_reply_goes_to_the_next_hop_or_to_the_sender_of_the_frame(void **state)
{
	static const uint8_t sender[6] = {2, 0, 0, 0, 0, 0x77};
	const char *const clients[][2] = {{CLIENT, VIP}, {CLIENT6, VIP6}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct packet packet = between(clients[i][0], clients[i][1]);

		pipeline.reply_to_sender = false;
		assert_reply(&packet);
		assert_memory_equal(burst.out[0], (&(uint8_t[6]){2, 0, 0, 0, 0, 0xfe}), 6);
		assert_memory_equal(burst.out[0] + 6, pipeline.outer.source_mac, 6);
		pipeline.reply_to_sender = true;
		assert_reply(&packet);
		assert_memory_equal(burst.out[0], sender, 6);
		assert_memory_equal(burst.out[0] + 6, pipeline.outer.source_mac, 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ordinary_clients_get_replies, reset),
		cmocka_unit_test_setup(test_sources_that_are_no_clients_get_no_reply, reset),
		cmocka_unit_test_setup(test_own_addresses_get_no_reply, reset),
		cmocka_unit_test_setup(test_packets_to_groups_get_no_reply, reset),
		cmocka_unit_test_setup(test_frames_to_or_from_groups_get_no_reply, reset),
		cmocka_unit_test_setup(test_ipv4_packets_without_df_get_no_reply_unless_configured, reset),
		cmocka_unit_test_setup(test_refused_packets_use_up_no_replies, reset),
		cmocka_unit_test_setup(test_reply_goes_to_the_next_hop_or_to_the_sender_of_the_frame, reset),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
