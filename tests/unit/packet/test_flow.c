/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of Ethernet, IPv4, IPv6, TCP and UDP, in the order of docs/reference/steering.md#ethernet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/packet/flow_helpers.h"

/* Ethernet */

static void test_incomplete_ethernet_header_is_truncated(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	for (packet.size = 0; packet.size < 14; packet.size++)
		assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
}

static void test_one_and_two_tags_of_either_type_are_skipped(void **state)
{
	static const uint16_t types[] = {0x8100, 0x88a8};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct packet one = packet_ethernet();

		packet_tag(&one, types[i]);
		packet_ipv4(&one, CLIENT, VIP, IPPROTO_TCP);
		packet_ports(&one, 20, 1234, 80);
		assert_int_equal(assert_flow_of_packet(&one).ip_offset, 18);
		for (unsigned j = 0; j < 2; j++) {
			struct packet two = packet_ethernet();

			packet_tag(&two, types[i]);
			packet_tag(&two, types[j]);
			packet_ipv6(&two, CLIENT6, VIP6, IPPROTO_TCP);
			packet_ports(&two, 20, 1234, 80);
			assert_int_equal(assert_flow_of_packet(&two).ip_offset, 22);
		}
	}
}

static void test_third_tag_is_unmatched(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	for (int tags = 0; tags < 3; tags++)
		packet_tag(&packet, 0x8100);
	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_TCP);
	packet_ports(&packet, 20, 1234, 80);
	assert_verdict(&packet, VERDICT_DROP_UNMATCHED);
}

static void test_incomplete_tag_is_truncated(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	packet_tag(&packet, 0x88a8);
	packet_tag(&packet, 0x8100);
	for (packet.size = 14; packet.size < 22; packet.size++)
		assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
}

static void test_every_other_ethertype_is_unmatched(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	for (uint32_t type = 0; type <= 0xffff; type++) {
		if (type == 0x0800 || type == 0x86dd || type == 0x8100 || type == 0x88a8)
			continue;
		store_be16(packet.bytes + 12, (uint16_t)type);
		assert_verdict(&packet, VERDICT_DROP_UNMATCHED);
	}
	packet.size = 14; /* no byte after it is needed */
	assert_verdict(&packet, VERDICT_DROP_UNMATCHED);
}

static void test_destination_mac_is_ignored(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	memset(packet.bytes, 0xff, 6);
	assert_flow_of_packet(&packet);
}

/* IPv4 */

static void test_flow_of_tcp_and_udp_over_ipv4_is_that_of_the_packet(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);
	struct flow flow = assert_flow_of_packet(&packet);

	(void)state;
	assert_int_equal(flow.family, NETADDR_V4);
	assert_int_equal(flow.protocol, IPPROTO_TCP);
	assert_int_equal(flow.hint, 1234);
	assert_int_equal(flow.ip_offset, 14);
	assert_int_equal(flow.ip_size, 40);
	assert_true(flow.reply_allowed);

	packet = packet_ethernet();
	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_UDP);
	packet_ports(&packet, 8, 1234, 80);
	flow = assert_flow_of_packet(&packet);
	assert_int_equal(flow.protocol, IPPROTO_UDP);
	assert_int_equal(flow.hint, 1234);
	assert_int_equal(flow.ip_size, 28);
}

static void test_ports_are_read_after_ipv4_options(void **state)
{
	(void)state;
	for (unsigned words = 0; words <= 10; words++) {
		struct packet packet = packet_ethernet();

		packet_ipv4(&packet, CLIENT, VIP, IPPROTO_TCP);
		packet_options(&packet, words);
		packet_ports(&packet, 20, 1234, 80);
		assert_int_equal(assert_flow_of_packet(&packet).ip_size, 40 + 4 * words);
	}
}

static void test_ihl_below_5_is_malformed(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	for (uint8_t ihl = 0; ihl < 5; ihl++) {
		packet.bytes[14] = 0x40 | ihl;
		assert_verdict(&packet, VERDICT_DROP_MALFORMED);
	}
}

static void test_version_must_agree_with_ethertype(void **state)
{
	(void)state;
	for (unsigned version = 0; version < 16; version++) {
		struct packet v4 = packet_tcp4(1234, 80), v6 = packet_tcp6(1234, 80);

		v4.bytes[14] = (uint8_t)(version << 4 | 5);
		v6.bytes[14] = (uint8_t)(version << 4);
		assert_verdict(&v4, version == 4 ? VERDICT_FORWARDED : VERDICT_DROP_MALFORMED);
		assert_verdict(&v6, version == 6 ? VERDICT_FORWARDED : VERDICT_DROP_MALFORMED);
	}
}

static void test_total_length_below_header_is_malformed(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_TCP);
	packet_options(&packet, 3);
	packet_ports(&packet, 20, 1234, 80);
	for (uint16_t total = 0; total < 32; total++) {
		store_be16(packet.bytes + 16, total);
		assert_verdict(&packet, VERDICT_DROP_MALFORMED);
	}
	store_be16(packet.bytes + 16, 32); /* the IP header only, without a TCP header */
	assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
}

static void test_length_beyond_the_frame_is_truncated(void **state)
{
	struct packet v4 = packet_tcp4(1234, 80), v6 = packet_tcp6(1234, 80);

	(void)state;
	store_be16(v4.bytes + 16, 41);
	assert_verdict(&v4, VERDICT_DROP_TRUNCATED);
	store_be16(v4.bytes + 16, 0xffff);
	assert_verdict(&v4, VERDICT_DROP_TRUNCATED);
	store_be16(v6.bytes + 18, 21);
	assert_verdict(&v6, VERDICT_DROP_TRUNCATED);
	store_be16(v6.bytes + 18, 0xffff);
	assert_verdict(&v6, VERDICT_DROP_TRUNCATED);
}

static void test_malformed_is_reported_before_truncated(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	store_be16(packet.bytes + 16, 5000);
	packet.bytes[14] = 0x44;
	assert_verdict(&packet, VERDICT_DROP_MALFORMED);
	packet.size = 14 + 19; /* unless the header itself is incomplete */
	assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
}

static void test_padding_is_not_part_of_the_packet(void **state)
{
	struct packet v4 = packet_tcp4(1234, 80), v6 = packet_tcp6(1234, 80);

	(void)state;
	packet_padding(&v4, 6);
	packet_padding(&v6, 6);
	assert_int_equal(assert_flow_of_packet(&v4).ip_size, 40);
	assert_int_equal(assert_flow_of_packet(&v6).ip_size, 60);
	store_be16(v4.bytes + 16, 39); /* now the last byte of the TCP header is padding */
	store_be16(v6.bytes + 18, 19);
	assert_verdict(&v4, VERDICT_DROP_TRUNCATED);
	assert_verdict(&v6, VERDICT_DROP_TRUNCATED);
}

static void test_ipv4_checksum_and_ttl_are_ignored(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	packet.bytes[14 + 8] = 0;
	store_be16(packet.bytes + 14 + 10, 0xbeef);
	assert_flow_of_packet(&packet);
}

static void test_other_protocols_are_unmatched(void **state)
{
	(void)state;
	for (unsigned protocol = 0; protocol < 256; protocol++) {
		struct packet v4 = packet_tcp4(1234, 80), v6 = packet_tcp6(1234, 80);
		bool extension = protocol == 0 || protocol == 43 || protocol == 44 || protocol == 60;

		v4.bytes[14 + 9] = (uint8_t)protocol;
		v6.bytes[14 + 6] = (uint8_t)protocol;
		if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_ICMP)
			assert_verdict(&v4, VERDICT_DROP_UNMATCHED);
		if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_ICMPV6 && !extension)
			assert_verdict(&v6, VERDICT_DROP_UNMATCHED);
	}
}

/* IPv6 */

static void test_flow_of_tcp_and_udp_over_ipv6_is_that_of_the_packet(void **state)
{
	struct packet packet = packet_tcp6(1234, 80);
	struct flow flow = assert_flow_of_packet(&packet);

	(void)state;
	assert_int_equal(flow.family, NETADDR_V6);
	assert_int_equal(flow.protocol, IPPROTO_TCP);
	assert_int_equal(flow.hint, 1234);
	assert_int_equal(flow.ip_size, 60);
	assert_true(flow.reply_allowed);

	packet = packet_ethernet();
	packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_UDP);
	packet_ports(&packet, 8, 1234, 80);
	assert_int_equal(assert_flow_of_packet(&packet).protocol, IPPROTO_UDP);
}

static void test_ports_are_read_after_any_extension_header(void **state)
{
	static const uint8_t types[] = {IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS};

	(void)state;
	for (unsigned i = 0; i < sizeof(types); i++) {
		for (unsigned units = 0; units < 256; units++) {
			struct packet packet = packet_ethernet();

			packet_ipv6(&packet, CLIENT6, VIP6, types[i]);
			packet_extension(&packet, IPPROTO_TCP, (uint8_t)units);
			packet_ports(&packet, 20, 1234, 80);
			assert_flow_of_packet(&packet);
		}
	}
}

static struct packet chain_of(unsigned count)
{
	static const uint8_t types[] = {IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_FRAGMENT, IPPROTO_DSTOPTS};
	struct packet packet = packet_ethernet();

	packet_ipv6(&packet, CLIENT6, VIP6, types[0]);
	for (unsigned i = 0; i < count; i++) {
		uint8_t next = i + 1 < count ? types[(i + 1) % 4] : IPPROTO_TCP;

		if (types[i % 4] == IPPROTO_FRAGMENT)
			packet_fragment(&packet, next, 0, false);
		else
			packet_extension(&packet, next, 0);
	}
	return packet;
}

static void test_packet_with_nine_extension_headers_is_dropped_with_eight_not(void **state)
{
	struct packet eight = chain_of(8), nine = chain_of(9);

	(void)state;
	packet_ports(&eight, 20, 1234, 80);
	assert_flow_of_packet(&eight);
	packet_ports(&nine, 20, 1234, 80);
	assert_verdict(&nine, VERDICT_DROP_EXTENSION_HEADERS);
}

static void test_ninth_extension_header_need_not_be_readable(void **state)
{
	struct packet packet = chain_of(8);

	(void)state;
	packet.bytes[packet.size - 8] = IPPROTO_DSTOPTS; /* a ninth header is announced, but the frame ends before it */
	assert_verdict(&packet, VERDICT_DROP_EXTENSION_HEADERS);
}

static void test_eighth_extension_header_must_be_in_the_packet(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_DSTOPTS);
	for (unsigned i = 0; i < 8; i++)
		packet_extension(&packet, IPPROTO_DSTOPTS, 0);
	assert_verdict(&packet, VERDICT_DROP_EXTENSION_HEADERS);
	packet.bytes[packet.size - 7] = 1; /* its size: 8 bytes more than the frame has */
	assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
}

static void test_extension_header_beyond_the_packet_is_truncated(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_DSTOPTS);
	packet_extension(&packet, IPPROTO_TCP, 1);
	packet_padding(&packet, 20); /* does not help, because it is not in the IP packet */
	assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
	packet.bytes[55] = 2;
	assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
	for (uint16_t payload = 0; payload < 8; payload++) {
		store_be16(packet.bytes + 18, payload);
		assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
	}
}

/* TCP and UDP */

static void test_incomplete_tcp_and_udp_headers_are_truncated(void **state)
{
	(void)state;
	for (uint32_t size = 0; size <= 20; size++) {
		struct packet tcp = packet_ethernet(), udp = packet_ethernet(), udp6 = packet_ethernet();

		packet_ipv4(&tcp, CLIENT, VIP, IPPROTO_TCP);
		packet_append(&tcp, size);
		assert_verdict(&tcp, size < 20 ? VERDICT_DROP_TRUNCATED : VERDICT_FORWARDED);
		packet_ipv4(&udp, CLIENT, VIP, IPPROTO_UDP);
		packet_append(&udp, size);
		assert_verdict(&udp, size < 8 ? VERDICT_DROP_TRUNCATED : VERDICT_FORWARDED);
		packet_ipv6(&udp6, CLIENT6, VIP6, IPPROTO_UDP);
		packet_append(&udp6, size);
		assert_verdict(&udp6, size < 8 ? VERDICT_DROP_TRUNCATED : VERDICT_FORWARDED);
	}
}

static void test_tcp_data_offset_and_udp_length_are_ignored(void **state)
{
	struct packet tcp = packet_tcp4(1234, 80), udp = packet_ethernet();

	(void)state;
	tcp.bytes[14 + 20 + 12] = 0xf0;
	assert_flow_of_packet(&tcp);
	packet_ipv4(&udp, CLIENT, VIP, IPPROTO_UDP);
	store_be16(packet_ports(&udp, 8, 1234, 80) + 4, 0xffff);
	assert_flow_of_packet(&udp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_incomplete_ethernet_header_is_truncated),
		cmocka_unit_test(test_one_and_two_tags_of_either_type_are_skipped),
		cmocka_unit_test(test_third_tag_is_unmatched),
		cmocka_unit_test(test_incomplete_tag_is_truncated),
		cmocka_unit_test(test_every_other_ethertype_is_unmatched),
		cmocka_unit_test(test_destination_mac_is_ignored),
		cmocka_unit_test(test_flow_of_tcp_and_udp_over_ipv4_is_that_of_the_packet),
		cmocka_unit_test(test_ports_are_read_after_ipv4_options),
		cmocka_unit_test(test_ihl_below_5_is_malformed),
		cmocka_unit_test(test_version_must_agree_with_ethertype),
		cmocka_unit_test(test_total_length_below_header_is_malformed),
		cmocka_unit_test(test_length_beyond_the_frame_is_truncated),
		cmocka_unit_test(test_malformed_is_reported_before_truncated),
		cmocka_unit_test(test_padding_is_not_part_of_the_packet),
		cmocka_unit_test(test_ipv4_checksum_and_ttl_are_ignored),
		cmocka_unit_test(test_other_protocols_are_unmatched),
		cmocka_unit_test(test_flow_of_tcp_and_udp_over_ipv6_is_that_of_the_packet),
		cmocka_unit_test(test_ports_are_read_after_any_extension_header),
		cmocka_unit_test(test_packet_with_nine_extension_headers_is_dropped_with_eight_not),
		cmocka_unit_test(test_ninth_extension_header_need_not_be_readable),
		cmocka_unit_test(test_eighth_extension_header_must_be_in_the_packet),
		cmocka_unit_test(test_extension_header_beyond_the_packet_is_truncated),
		cmocka_unit_test(test_incomplete_tcp_and_udp_headers_are_truncated),
		cmocka_unit_test(test_tcp_data_offset_and_udp_length_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
