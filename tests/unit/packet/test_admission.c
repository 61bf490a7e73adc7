/* SPDX-License-Identifier: BSD-3-Clause */
/* Which frames are taken, by destination MAC, VLAN and source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "packet/pipeline.h"
#include "tests/unit/guarded.h"
#include "tests/unit/handmade.h"
#include "tests/unit/packets.h"

#define PORT_MAC 0x010000000002 /* 02:00:00:00:00:01, to which packets.h sends */

static struct next_hops next_hops = {.single = true, .mac = 0xfe0000000002};
static struct routes *routes;
static struct steering_config steering;
static struct admission *const admission = &steering.admission;
static struct pipeline pipeline;
static struct burst burst;

static int set_up(void **state)
{
	struct table_set set = {0};

	(void)state;
	handmade_table(&set, 100, 2);
	handmade_bind(&set, 0, "0.0.0.0/0", TABLE_TCP, 0, 65535);
	handmade_bind(&set, 0, "::/0", TABLE_TCP, 0, 65535);
	routes = handmade_routes(&set);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	routes_free(routes);
	return 0;
}

/* The defaults of director.conf. */
static int reset(void **state)
{
	(void)state;
	steering = (struct steering_config){.hash_fields = STEERING_SOURCE_ADDRESS,
		.forward_ping = true,
		.outbound_mtu = 1500,
		.admission = {.accept = ADMISSION_LISTED, .check_vlans = true, .drop_martians = true}};
	admission_add_vlan(admission, 0);
	pipeline = (struct pipeline){
		.routes = routes, .next_hops = &next_hops, .steering = &steering, .port_mac = PORT_MAC};
	return 0;
}

/* The frame ends at the guard page. Runs on the general path and on the plain fast path. */
static enum verdict run(const struct packet *packet)
{
	enum verdict verdicts[2];

	for (unsigned fast = 0; fast < 2; fast++) {
		pipeline.fast = fast ? lanes_plain : NULL;
		burst.count = 1;
		burst.frame[0] = guarded_copy(packet->bytes, packet->size);
		burst.headroom[0] = BURST_HEADROOM;
		burst.readable[0] = burst.size[0] = packet->size;
		pipeline_run(&pipeline, &burst);
		verdicts[fast] = burst.verdict[0];
		assert_int_equal(burst.out[0] != NULL,
			burst.verdict[0] == VERDICT_FORWARDED || burst.verdict[0] == VERDICT_ANSWERED_TOO_BIG);
	}
	assert_int_equal(verdicts[0], verdicts[1]);
	return verdicts[0];
}

static enum verdict run_to(uint64_t mac)
{
	struct packet packet = packet_tcp4(1234, 80);

	memcpy(packet.bytes, &mac, 6);
	return run(&packet);
}

static void test_frames_to_the_ports_mac_are_forwarded(void **state)
{
	(void)state;
	assert_int_equal(run_to(PORT_MAC), VERDICT_FORWARDED);
	pipeline.port_mac = 0x0a0000000002; /* it can change between bursts */
	assert_int_equal(run_to(PORT_MAC), VERDICT_DROP_NOT_FOR_US);
	assert_int_equal(run_to(0x0a0000000002), VERDICT_FORWARDED);
}

static void test_a_mac_that_differs_in_one_bit_is_another_hosts(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 48; bit++)
		assert_int_equal(run_to(PORT_MAC ^ 1ull << bit), VERDICT_DROP_NOT_FOR_US);
}

static void test_listed_macs_are_accepted_besides_the_ports(void **state)
{
	(void)state;
	admission->mac_count = ADMISSION_MAX_MACS;
	for (uint64_t i = 0; i < ADMISSION_MAX_MACS; i++)
		admission->macs[i] = i << 40 | 0x005e0000;
	for (uint64_t i = 0; i < ADMISSION_MAX_MACS; i++)
		assert_int_equal(run_to(i << 40 | 0x005e0000), VERDICT_FORWARDED);
	assert_int_equal(run_to(9ull << 40 | 0x005e0000), VERDICT_DROP_NOT_FOR_US);
	assert_int_equal(run_to(PORT_MAC), VERDICT_FORWARDED);
}

static void test_group_frames_are_never_forwarded(void **state)
{
	static const uint64_t groups[] = {0xffffffffffff, 0x0000005e0001, 0x010000003333, 1, PORT_MAC | 1};

	(void)state;
	for (unsigned accept = ADMISSION_EVERY_UNICAST; accept <= ADMISSION_LISTED; accept++) {
		admission->accept = accept;
		for (unsigned i = 0; i < 5; i++) {
			steering.exception_path = false;
			assert_int_equal(run_to(groups[i]), VERDICT_DROP_NOT_FOR_US);
			steering.exception_path = true;
			assert_int_equal(run_to(groups[i]), VERDICT_EXCEPTION);
		}
	}
	admission->accept = ADMISSION_EVERY_FRAME; /* replay without the port's MAC */
	assert_int_equal(run_to(groups[0]), VERDICT_FORWARDED);
}

static void test_frames_to_other_hosts_never_reach_the_exception_path(void **state)
{
	struct packet arp = packet_ethernet();

	(void)state;
	steering.exception_path = true;
	packet_padding(&arp, 28);
	store_be16(arp.bytes + 12, 0x0806);
	assert_int_equal(run(&arp), VERDICT_EXCEPTION);
	arp.bytes[5] ^= 1;
	assert_int_equal(run(&arp), VERDICT_DROP_NOT_FOR_US);
}

static void test_any_accepts_every_unicast_mac(void **state)
{
	(void)state;
	admission->accept = ADMISSION_EVERY_UNICAST;
	assert_int_equal(run_to(0xfedcba987654), VERDICT_FORWARDED);
	assert_int_equal(run_to(PORT_MAC), VERDICT_FORWARDED);
}

/* Duplicate address detection has the source ::, DHCP has 0.0.0.0. The kernel needs both. */
static void test_group_frames_are_not_parsed(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	steering.exception_path = true;
	packet_ipv6(&packet, "::", "ff02::1", IPPROTO_ICMPV6);
	memcpy(packet.bytes, "\x33\x33\0\0\0\1", 6);
	assert_int_equal(run(&packet), VERDICT_EXCEPTION);
	packet.size -= 5; /* truncated */
	assert_int_equal(run(&packet), VERDICT_EXCEPTION);
}

/* The flow of a lane can be of an earlier burst, whose frame was larger. */
static void test_group_frame_after_an_icmp_error_is_not_taken_for_one(void **state)
{
	struct packet error = packet_ethernet(), group = packet_ethernet();

	(void)state;
	steering.exception_path = true;
	packet_tag(&error, 0x8100);
	admission->check_vlans = false;
	packet_ipv4(&error, CLIENT, VIP, IPPROTO_ICMP);
	packet_icmp(&error, 3, 4);
	packet_ipv4(&error, VIP, CLIENT, IPPROTO_UDP);
	packet_ports(&error, 8, 80, 1234);
	assert_int_equal(run(&error), VERDICT_EXCEPTION);
	memset(group.bytes, 0xff, 6);
	assert_int_equal(run(&group), VERDICT_EXCEPTION);
	assert_int_equal(burst.flow[0].kind, FLOW_TRANSPORT);
	assert_int_equal(burst.flow[0].ip_offset, 0);
}

static struct packet tagged(unsigned count, const uint16_t tags[])
{
	struct packet packet = packet_ethernet();

	for (unsigned i = 0; i < count; i++) {
		packet_tag(&packet, i == 0 && count > 1 ? 0x88a8 : 0x8100);
		store_be16(packet.bytes + packet.size - 4, tags[i]);
	}
	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_TCP);
	packet_ports(&packet, 20, 1234, 80);
	return packet;
}

static enum verdict run_tagged(unsigned count, uint16_t outer, uint16_t inner)
{
	struct packet packet = tagged(count, (uint16_t[]){outer, inner});

	return run(&packet);
}

static void test_untagged_frames_are_accepted_by_default(void **state)
{
	(void)state;
	assert_int_equal(run_tagged(0, 0, 0), VERDICT_FORWARDED);
	assert_int_equal(run_tagged(1, 100, 0), VERDICT_DROP_VLAN);
	assert_int_equal(run_tagged(1, 0xe000, 0), VERDICT_FORWARDED); /* only a priority */
	assert_int_equal(run_tagged(2, 0, 0), VERDICT_FORWARDED);
	assert_int_equal(run_tagged(2, 0, 100), VERDICT_DROP_VLAN);
	assert_int_equal(run_tagged(1, 4095, 0), VERDICT_DROP_VLAN);
}

static void test_every_id_of_a_frame_must_be_listed(void **state)
{
	(void)state;
	memset(admission->vlans, 0, sizeof(admission->vlans));
	admission_add_vlan(admission, 100);
	admission_add_vlan(admission, 4094);
	assert_int_equal(run_tagged(0, 0, 0), VERDICT_DROP_VLAN);
	assert_int_equal(run_tagged(1, 0xe000, 0), VERDICT_DROP_VLAN);
	assert_int_equal(run_tagged(1, 0xf000 | 100, 0), VERDICT_FORWARDED);
	assert_int_equal(run_tagged(1, 4094, 0), VERDICT_FORWARDED);
	assert_int_equal(run_tagged(2, 100, 4094), VERDICT_FORWARDED);
	assert_int_equal(run_tagged(2, 100, 0), VERDICT_FORWARDED);
	assert_int_equal(run_tagged(2, 100, 101), VERDICT_DROP_VLAN);
	assert_int_equal(run_tagged(2, 101, 100), VERDICT_DROP_VLAN);
}

static void test_every_id_is_accepted_alone(void **state)
{
	(void)state;
	for (uint16_t vlan = 1; vlan < 4095; vlan += 31) {
		memset(admission->vlans, 0, sizeof(admission->vlans));
		admission_add_vlan(admission, vlan);
		assert_true(admission_accepts_tagged(admission));
		assert_int_equal(run_tagged(1, vlan, 0), VERDICT_FORWARDED);
		assert_int_equal(run_tagged(1, vlan ^ 1, 0), VERDICT_DROP_VLAN);
	}
}

static void test_a_frame_that_ends_inside_a_tag_is_truncated(void **state)
{
	struct packet packet = tagged(2, (uint16_t[]){100, 100});

	(void)state;
	for (packet.size = 14; packet.size < 22; packet.size++)
		assert_int_equal(run(&packet), VERDICT_DROP_TRUNCATED);
	assert_int_equal(run(&packet), VERDICT_DROP_VLAN);
	for (packet.size = 0; packet.size < 14; packet.size++)
		assert_int_equal(run(&packet), VERDICT_DROP_TRUNCATED);
}

static enum verdict run_from(const char *source, const char *destination)
{
	bool v6 = strchr(source, ':');
	struct packet packet = packet_ethernet();

	if (v6)
		packet_ipv6(&packet, source, destination, IPPROTO_TCP);
	else
		packet_ipv4(&packet, source, destination, IPPROTO_TCP);
	packet_ports(&packet, 20, 1234, 80);
	return run(&packet);
}

static void test_martian_sources_are_dropped(void **state)
{
	static const char *const martians[] = {"0.0.0.0", "0.255.255.255", "127.0.0.0", "127.0.0.1", "127.255.255.255",
		"224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.255", VIP, "::", "::1", "::ffff:192.0.2.1",
		"::192.0.2.1", "::ffff:ffff:ffff:ffff", "ff00::", "ff02::1", "ffff:ffff::1", VIP6};
	static const char *const others[] = {"1.0.0.0", "126.255.255.255", "128.0.0.0", "223.255.255.255", "10.0.0.1",
		"100.64.0.1", "169.254.1.1", "192.168.0.1", "10.10.10.11", "0:0:0:1::", "100::", "64:ff9b::1",
		"fe80::1", "fc00::1", "feff::1", "fdb4::11", "fdb5::10"};

	(void)state;
	for (unsigned drop = 0; drop < 2; drop++) {
		admission->drop_martians = drop;
		for (unsigned i = 0; i < sizeof(martians) / sizeof(*martians); i++)
			assert_int_equal(run_from(martians[i], strchr(martians[i], ':') ? VIP6 : VIP),
				drop ? VERDICT_DROP_MARTIAN : VERDICT_FORWARDED);
		for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
			assert_int_equal(run_from(others[i], strchr(others[i], ':') ? VIP6 : VIP), VERDICT_FORWARDED);
	}
}

static void test_martians_that_no_bind_matches_are_dropped(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	steering.exception_path = true;
	packet_ipv4(&packet, "127.0.0.1", VIP, 89);
	assert_int_equal(run(&packet), VERDICT_DROP_MARTIAN);
	packet.bytes[packet.ip[0] + 12] = 10;
	assert_int_equal(run(&packet), VERDICT_EXCEPTION);
}

/* Routers have private addresses. What they quote is from the proxy to the client. */
static void test_only_the_source_of_an_icmp_error_counts(void **state)
{
	static const struct {
		const char *source, *quoted_destination;
		enum verdict verdict;
	} cases[] = {{"192.168.7.1", CLIENT, VERDICT_FORWARDED}, {"10.0.0.1", "127.0.0.1", VERDICT_FORWARDED},
		{"127.0.0.1", CLIENT, VERDICT_DROP_MARTIAN}, {"224.0.0.5", CLIENT, VERDICT_DROP_MARTIAN}};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct packet packet = packet_ethernet();

		packet_ipv4(&packet, cases[i].source, VIP, IPPROTO_ICMP);
		packet_icmp(&packet, 3, 4);
		packet_ipv4(&packet, VIP, cases[i].quoted_destination, IPPROTO_TCP);
		packet_ports(&packet, 8, 80, 1234);
		assert_int_equal(run(&packet), cases[i].verdict);
	}
}

static void test_outbound_vlan_tags_what_is_sent(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);
	uint8_t untagged[128];
	uint32_t size;

	(void)state;
	assert_int_equal(run(&packet), VERDICT_FORWARDED);
	size = burst.out_size[0];
	memcpy(untagged, burst.out[0], size);
	admission->outbound_vlan = 4094;
	assert_int_equal(run(&packet), VERDICT_FORWARDED);
	assert_int_equal(burst.out_size[0], size + 4);
	assert_memory_equal(burst.out[0], untagged, 12);
	assert_memory_equal(burst.out[0] + 12, "\x81\x00\x0f\xfe", 4);
	assert_memory_equal(burst.out[0] + 16, untagged + 12, size - 12);
}

/* A tag is no part of the IP packet that outbound_mtu limits. */
static void test_outbound_vlan_does_not_count_for_the_mtu(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	admission->outbound_vlan = 1;
	packet_append(&packet, 1500 - 40 - (packet.size - 14));
	assert_int_equal(run(&packet), VERDICT_FORWARDED);
	assert_int_equal(burst.out_size[0], 14 + 4 + 1500);
	packet_append(&packet, 1);
	assert_int_equal(run(&packet), VERDICT_DROP_TOO_BIG);
}

static void test_reply_to_the_sender_has_the_tags_of_its_frame(void **state)
{
	struct packet packet = tagged(2, (uint16_t[]){0x2064, 0x00c8});

	(void)state;
	steering.send_too_big = steering.reply_without_df = true;
	admission->check_vlans = false;
	admission->outbound_vlan = 7;
	packet_append(&packet, 2000);
	pipeline.reply_to_sender = true;
	assert_int_equal(run(&packet), VERDICT_ANSWERED_TOO_BIG);
	assert_memory_equal(burst.out[0], packet.bytes + 6, 6);
	assert_memory_equal(burst.out[0] + 12, "\x88\xa8\x20\x64\x81\x00\x00\xc8\x08\x00", 10);
	assert_int_equal(burst.out_size[0], 14 + 8 + 20 + 8 + 548);
	pipeline.reply_to_sender = false;
	assert_int_equal(run(&packet), VERDICT_ANSWERED_TOO_BIG);
	assert_memory_equal(burst.out[0] + 12, "\x81\x00\x00\x07\x08\x00", 6);
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_frames_to_the_ports_mac_are_forwarded),
		TEST(test_a_mac_that_differs_in_one_bit_is_another_hosts),
		TEST(test_listed_macs_are_accepted_besides_the_ports),
		TEST(test_group_frames_are_never_forwarded),
		TEST(test_frames_to_other_hosts_never_reach_the_exception_path),
		TEST(test_any_accepts_every_unicast_mac),
		TEST(test_group_frames_are_not_parsed),
		TEST(test_group_frame_after_an_icmp_error_is_not_taken_for_one),
		TEST(test_untagged_frames_are_accepted_by_default),
		TEST(test_every_id_of_a_frame_must_be_listed),
		TEST(test_every_id_is_accepted_alone),
		TEST(test_a_frame_that_ends_inside_a_tag_is_truncated),
		TEST(test_martian_sources_are_dropped),
		TEST(test_martians_that_no_bind_matches_are_dropped),
		TEST(test_only_the_source_of_an_icmp_error_counts),
		TEST(test_outbound_vlan_tags_what_is_sent),
		TEST(test_outbound_vlan_does_not_count_for_the_mtu),
		TEST(test_reply_to_the_sender_has_the_tags_of_its_frame),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
