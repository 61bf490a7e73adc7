/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing, rule by rule in the order of formats.md sections 6 and 7. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "director/flow.h"
#include "guarded.h"
#include "packets.h"

static enum verdict parse(const struct packet *packet, struct flow *flow)
{
	return flow_parse(
		guarded_copy(packet->bytes, packet->size), packet->size, packet->size, true, flow);
}

static void assert_verdict(const struct packet *packet, enum verdict expected)
{
	struct flow flow;

	assert_string_equal(verdict_name(parse(packet, &flow)), verdict_name(expected));
}

/* The packet is a flow of this kind between these ends; the rest is returned for more checks. */
static struct flow assert_flow(const struct packet *packet, enum flow_kind kind, const char *source,
	uint16_t source_port, const char *destination, uint16_t destination_port)
{
	uint8_t bytes[16] = {0};
	struct flow flow;

	assert_string_equal(verdict_name(parse(packet, &flow)), "forwarded");
	assert_int_equal(flow.kind, kind);
	packet_address(bytes, source);
	assert_memory_equal(flow.source, bytes, 16);
	memset(bytes, 0, 16);
	packet_address(bytes, destination);
	assert_memory_equal(flow.destination, bytes, 16);
	assert_int_equal(flow.source_port, source_port);
	assert_int_equal(flow.destination_port, destination_port);
	return flow;
}

static struct flow assert_own_flow(const struct packet *packet)
{
	bool v4 = packet->bytes[packet->ip[0]] >> 4 == 4;

	return assert_flow(
		packet, FLOW_TRANSPORT, v4 ? CLIENT : CLIENT6, 1234, v4 ? VIP : VIP6, 80);
}

static struct flow assert_proxys_flow(const struct packet *packet)
{
	bool v4 = packet->bytes[packet->ip[0]] >> 4 == 4;

	return assert_flow(
		packet, FLOW_ICMP_ERROR, v4 ? CLIENT : CLIENT6, 1234, v4 ? VIP : VIP6, 80);
}

/* A quote of what a proxy sent: from the VIP to the client. */
static void quote4(struct packet *packet, uint8_t protocol, unsigned option_words, uint32_t size)
{
	packet_ipv4(packet, VIP, CLIENT, protocol);
	packet_options(packet, option_words);
	packet_ports(packet, size, 80, 1234);
}

/* Ethernet */

static void test_cut_ethernet_header_is_truncated(void **state)
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
		assert_int_equal(assert_own_flow(&one).ip_offset, 18);
		for (unsigned j = 0; j < 2; j++) {
			struct packet two = packet_ethernet();

			packet_tag(&two, types[i]);
			packet_tag(&two, types[j]);
			packet_ipv6(&two, CLIENT6, VIP6, IPPROTO_TCP);
			packet_ports(&two, 20, 1234, 80);
			assert_int_equal(assert_own_flow(&two).ip_offset, 22);
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

static void test_cut_tag_is_truncated(void **state)
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
	packet.size = 14; /* nothing behind it is looked at */
	assert_verdict(&packet, VERDICT_DROP_UNMATCHED);
}

static void test_destination_mac_is_not_looked_at(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	memset(packet.bytes, 0xff, 6);
	assert_own_flow(&packet);
}

/* IPv4 */

static void test_tcp_and_udp_over_ipv4_are_their_own_flow(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);
	struct flow flow = assert_own_flow(&packet);

	(void)state;
	assert_int_equal(flow.family, NETADDR_V4);
	assert_int_equal(flow.protocol, IPPROTO_TCP);
	assert_int_equal(flow.hint, 1234);
	assert_int_equal(flow.ip_offset, 14);
	assert_int_equal(flow.ip_size, 40);
	assert_true(flow.answerable);

	packet = packet_ethernet();
	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_UDP);
	packet_ports(&packet, 8, 1234, 80);
	flow = assert_own_flow(&packet);
	assert_int_equal(flow.protocol, IPPROTO_UDP);
	assert_int_equal(flow.hint, 1234);
	assert_int_equal(flow.ip_size, 28);
}

static void test_ports_lie_behind_ipv4_options(void **state)
{
	(void)state;
	for (unsigned words = 0; words <= 10; words++) {
		struct packet packet = packet_ethernet();

		packet_ipv4(&packet, CLIENT, VIP, IPPROTO_TCP);
		packet_options(&packet, words);
		packet_ports(&packet, 20, 1234, 80);
		assert_int_equal(assert_own_flow(&packet).ip_size, 40 + 4 * words);
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
	store_be16(packet.bytes + 16, 32); /* whole, but without the TCP header */
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

static void test_malformed_is_said_before_truncated(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	store_be16(packet.bytes + 16, 5000);
	packet.bytes[14] = 0x44;
	assert_verdict(&packet, VERDICT_DROP_MALFORMED);
	packet.size = 14 + 19; /* but not where the header itself is cut */
	assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
}

static void test_padding_is_no_part_of_the_packet(void **state)
{
	struct packet v4 = packet_tcp4(1234, 80), v6 = packet_tcp6(1234, 80);

	(void)state;
	packet_padding(&v4, 6);
	packet_padding(&v6, 6);
	assert_int_equal(assert_own_flow(&v4).ip_size, 40);
	assert_int_equal(assert_own_flow(&v6).ip_size, 60);
	store_be16(v4.bytes + 16, 39); /* now the TCP header's last byte is padding */
	store_be16(v6.bytes + 18, 19);
	assert_verdict(&v4, VERDICT_DROP_TRUNCATED);
	assert_verdict(&v6, VERDICT_DROP_TRUNCATED);
}

static void test_ipv4_checksum_and_ttl_are_not_looked_at(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);

	(void)state;
	packet.bytes[14 + 8] = 0;
	store_be16(packet.bytes + 14 + 10, 0xbeef);
	assert_own_flow(&packet);
}

static void test_other_protocols_are_unmatched(void **state)
{
	(void)state;
	for (unsigned protocol = 0; protocol < 256; protocol++) {
		struct packet v4 = packet_tcp4(1234, 80), v6 = packet_tcp6(1234, 80);
		bool extension =
			protocol == 0 || protocol == 43 || protocol == 44 || protocol == 60;

		v4.bytes[14 + 9] = (uint8_t)protocol;
		v6.bytes[14 + 6] = (uint8_t)protocol;
		if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_ICMP)
			assert_verdict(&v4, VERDICT_DROP_UNMATCHED);
		if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP &&
			protocol != IPPROTO_ICMPV6 && !extension)
			assert_verdict(&v6, VERDICT_DROP_UNMATCHED);
	}
}

/* IPv6 */

static void test_tcp_and_udp_over_ipv6_are_their_own_flow(void **state)
{
	struct packet packet = packet_tcp6(1234, 80);
	struct flow flow = assert_own_flow(&packet);

	(void)state;
	assert_int_equal(flow.family, NETADDR_V6);
	assert_int_equal(flow.protocol, IPPROTO_TCP);
	assert_int_equal(flow.hint, 1234);
	assert_int_equal(flow.ip_size, 60);
	assert_true(flow.answerable);

	packet = packet_ethernet();
	packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_UDP);
	packet_ports(&packet, 8, 1234, 80);
	assert_int_equal(assert_own_flow(&packet).protocol, IPPROTO_UDP);
}

static void test_ports_lie_behind_each_extension_header(void **state)
{
	static const uint8_t types[] = {IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS};

	(void)state;
	for (unsigned i = 0; i < sizeof(types); i++) {
		for (unsigned units = 0; units < 256; units++) {
			struct packet packet = packet_ethernet();

			packet_ipv6(&packet, CLIENT6, VIP6, types[i]);
			packet_extension(&packet, IPPROTO_TCP, (uint8_t)units);
			packet_ports(&packet, 20, 1234, 80);
			assert_own_flow(&packet);
		}
	}
}

static struct packet chain_of(unsigned count)
{
	static const uint8_t types[] = {
		IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_FRAGMENT, IPPROTO_DSTOPTS};
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

static void test_eight_extension_headers_are_walked_the_ninth_is_dropped(void **state)
{
	struct packet eight = chain_of(8), nine = chain_of(9);

	(void)state;
	packet_ports(&eight, 20, 1234, 80);
	assert_own_flow(&eight);
	packet_ports(&nine, 20, 1234, 80);
	assert_verdict(&nine, VERDICT_DROP_EXTENSION_HEADERS);
}

static void test_ninth_extension_header_is_dropped_before_its_bytes_are_read(void **state)
{
	struct packet packet = chain_of(8);

	(void)state;
	packet.bytes[packet.size - 8] =
		IPPROTO_DSTOPTS; /* a ninth follows, and no byte of it is there */
	assert_verdict(&packet, VERDICT_DROP_EXTENSION_HEADERS);
}

static void test_extension_header_beyond_the_packet_is_truncated(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_DSTOPTS);
	packet_extension(&packet, IPPROTO_TCP, 1);
	packet_padding(&packet, 20); /* of no help: it is not in the IP packet */
	assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
	packet.bytes[55] = 2;
	assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
	for (uint16_t payload = 0; payload < 8; payload++) {
		store_be16(packet.bytes + 18, payload);
		assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
	}
}

/* TCP and UDP */

static void test_cut_tcp_and_udp_headers_are_truncated(void **state)
{
	(void)state;
	for (uint32_t size = 0; size <= 20; size++) {
		struct packet tcp = packet_ethernet(), udp = packet_ethernet(),
			      udp6 = packet_ethernet();

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

static void test_tcp_data_offset_and_udp_length_are_not_looked_at(void **state)
{
	struct packet tcp = packet_tcp4(1234, 80), udp = packet_ethernet();

	(void)state;
	tcp.bytes[14 + 20 + 12] = 0xf0;
	assert_own_flow(&tcp);
	packet_ipv4(&udp, CLIENT, VIP, IPPROTO_UDP);
	store_be16(packet_ports(&udp, 8, 1234, 80) + 4, 0xffff);
	assert_own_flow(&udp);
}

/* ICMP */

static void test_cut_icmp_headers_are_truncated(void **state)
{
	(void)state;
	for (uint32_t size = 0; size < 8; size++) {
		struct packet v4 = packet_ethernet(), v6 = packet_ethernet();

		packet_ipv4(&v4, CLIENT, VIP, IPPROTO_ICMP);
		packet_append(&v4, size);
		assert_verdict(&v4, VERDICT_DROP_TRUNCATED);
		packet_ipv6(&v6, CLIENT6, VIP6, IPPROTO_ICMPV6);
		packet_append(&v6, size);
		assert_verdict(&v6, VERDICT_DROP_TRUNCATED);
	}
}

static void test_exactly_the_icmpv4_types_3_11_12_carry_a_quote(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		struct packet packet = packet_error4((uint8_t)type);

		quote4(&packet, IPPROTO_TCP, 0, 8);
		if (type == 3 || type == 11 || type == 12)
			assert_proxys_flow(&packet);
		else if (type != 8)
			assert_verdict(&packet, VERDICT_DROP_UNMATCHED);
	}
}

static void test_exactly_the_icmpv6_types_1_to_4_carry_a_quote(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		struct packet packet = packet_error6((uint8_t)type);

		packet_ipv6(&packet, VIP6, CLIENT6, IPPROTO_UDP);
		packet_ports(&packet, 8, 80, 1234);
		if (type >= 1 && type <= 4)
			assert_proxys_flow(&packet);
		else if (type != 128)
			assert_verdict(&packet, VERDICT_DROP_UNMATCHED);
	}
}

static void test_icmp_code_is_not_looked_at(void **state)
{
	struct packet packet = packet_error4(3);

	(void)state;
	quote4(&packet, IPPROTO_TCP, 0, 8);
	for (unsigned code = 0; code < 256; code++) {
		packet.bytes[35] = (uint8_t)code;
		assert_proxys_flow(&packet);
	}
}

static void test_icmp_of_the_other_family_is_unmatched(void **state)
{
	struct packet v4 = packet_ethernet(), v6 = packet_ethernet();

	(void)state;
	packet_ipv4(&v4, CLIENT, VIP, IPPROTO_ICMPV6);
	packet_icmp(&v4, 128, 0);
	assert_verdict(&v4, VERDICT_DROP_UNMATCHED);
	packet_ipv6(&v6, CLIENT6, VIP6, IPPROTO_ICMP);
	packet_icmp(&v6, 8, 0);
	assert_verdict(&v6, VERDICT_DROP_UNMATCHED);
}

static void test_echo_request_has_no_ports_and_hints_its_identity(void **state)
{
	struct packet v4 = packet_ethernet(), v6 = packet_ethernet();
	struct flow flow;

	(void)state;
	store_be16(packet_ipv4(&v4, CLIENT, VIP, IPPROTO_ICMP) + 4, 0xabcd);
	store_be16(packet_icmp(&v4, 8, 0) + 4, 0x1111); /* the ICMP identifier is something else */
	flow = assert_flow(&v4, FLOW_ECHO, CLIENT, 0, VIP, 0);
	assert_int_equal(flow.hint, 0xabcd);
	assert_true(flow.answerable);

	store_be32(packet_ipv6(&v6, CLIENT6, VIP6, IPPROTO_ICMPV6), 0x6ff9beef);
	packet_icmp(&v6, 128, 0);
	flow = assert_flow(&v6, FLOW_ECHO, CLIENT6, 0, VIP6, 0);
	assert_int_equal(flow.hint, 0xbeef);
	assert_true(flow.answerable);
}

static void test_echo_request_is_unmatched_where_pings_are_not_forwarded(void **state)
{
	struct packet packet = packet_ethernet();
	struct flow flow;

	(void)state;
	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_ICMP);
	packet_icmp(&packet, 8, 0);
	assert_int_equal(flow_parse(packet.bytes, packet.size, packet.size, false, &flow),
		VERDICT_DROP_UNMATCHED);
	packet = packet_error4(3); /* errors are not pings */
	quote4(&packet, IPPROTO_TCP, 0, 8);
	assert_int_equal(flow_parse(packet.bytes, packet.size, packet.size, false, &flow),
		VERDICT_FORWARDED);
}

/* Quotes */

static void test_quote_is_the_proxys_flow_with_ends_exchanged(void **state)
{
	struct packet packet = packet_error4(3);
	struct flow flow;

	(void)state;
	quote4(&packet, IPPROTO_UDP, 0, 8);
	flow = assert_proxys_flow(&packet);
	assert_int_equal(flow.protocol, IPPROTO_UDP);
	assert_int_equal(flow.hint, 1234);  /* the client's port */
	assert_int_equal(flow.ip_size, 56); /* of the error itself */
	assert_false(flow.answerable);
}

static void test_quote_with_options_is_the_proxys_flow(void **state)
{
	(void)state;
	for (unsigned outer = 0; outer <= 10; outer++) {
		for (unsigned words = 0; words <= 10; words++) {
			struct packet packet = packet_ethernet();

			packet_ipv4(&packet, "198.51.100.1", VIP, IPPROTO_ICMP);
			packet_options(&packet, outer);
			packet_icmp(&packet, 3, 4);
			quote4(&packet, IPPROTO_TCP, words, 8);
			assert_proxys_flow(&packet);
		}
	}
}

static void test_quote_with_extension_headers_is_the_proxys_flow(void **state)
{
	struct packet packet = packet_error6(2);

	(void)state;
	packet_ipv6(&packet, VIP6, CLIENT6, IPPROTO_HOPOPTS);
	packet_extension(&packet, IPPROTO_FRAGMENT, 2);
	packet_fragment(&packet, IPPROTO_TCP, 0, true);
	packet_ports(&packet, 8, 80, 1234);
	assert_proxys_flow(&packet);
}

static void test_quote_with_nine_extension_headers_is_dropped(void **state)
{
	struct packet packet = packet_error6(1);

	(void)state;
	packet_ipv6(&packet, VIP6, CLIENT6, IPPROTO_DSTOPTS);
	for (int i = 0; i < 9; i++)
		packet_extension(&packet, i < 8 ? IPPROTO_DSTOPTS : IPPROTO_TCP, 0);
	packet_ports(&packet, 8, 80, 1234);
	assert_verdict(&packet, VERDICT_DROP_EXTENSION_HEADERS);
}

static void test_outer_extension_headers_do_not_count_for_the_quote(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	packet_ipv6(&packet, "2001:db8:ffff::1", VIP6, IPPROTO_DSTOPTS);
	for (int i = 0; i < 8; i++)
		packet_extension(&packet, i < 7 ? IPPROTO_DSTOPTS : IPPROTO_ICMPV6, 0);
	packet_icmp(&packet, 3, 0);
	packet_ipv6(&packet, VIP6, CLIENT6, IPPROTO_DSTOPTS);
	for (int i = 0; i < 8; i++)
		packet_extension(&packet, i < 7 ? IPPROTO_DSTOPTS : IPPROTO_TCP, 0);
	packet_ports(&packet, 8, 80, 1234);
	assert_proxys_flow(&packet);
}

static void test_quote_needs_eight_bytes_of_tcp_or_udp(void **state)
{
	static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		for (uint32_t size = 4; size <= 9; size++) {
			struct packet v4 = packet_error4(11), v6 = packet_error6(3);

			quote4(&v4, protocols[i], 1, size);
			packet_ipv6(&v6, VIP6, CLIENT6, protocols[i]);
			packet_ports(&v6, size, 80, 1234);
			assert_verdict(&v4, size < 8 ? VERDICT_DROP_TRUNCATED : VERDICT_FORWARDED);
			assert_verdict(&v6, size < 8 ? VERDICT_DROP_TRUNCATED : VERDICT_FORWARDED);
		}
	}
}

static void test_length_of_a_quote_is_not_compared_with_what_is_there(void **state)
{
	static const uint16_t totals[] = {24, 27, 28, 1500, 0xffff};
	struct packet v4 = packet_error4(3), v6 = packet_error6(2);

	(void)state;
	quote4(&v4, IPPROTO_TCP, 0, 8);
	packet_ipv6(&v6, VIP6, CLIENT6, IPPROTO_TCP);
	packet_ports(&v6, 8, 80, 1234);
	for (unsigned i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		store_be16(v4.bytes + v4.ip[1] + 2, totals[i]);
		assert_proxys_flow(&v4);
		store_be16(v6.bytes + v6.ip[1] + 4, (uint16_t)(totals[i] - 24));
		assert_proxys_flow(&v6);
	}
}

static void test_quote_that_contradicts_itself_is_malformed(void **state)
{
	struct packet packet = packet_error4(12), v6 = packet_error6(4);
	uint8_t *quote = packet.bytes + packet.size;

	(void)state;
	quote4(&packet, IPPROTO_TCP, 0, 8);
	quote[0] = 0x44;
	assert_verdict(&packet, VERDICT_DROP_MALFORMED);
	quote[0] = 0x65;
	assert_verdict(&packet, VERDICT_DROP_MALFORMED);
	quote[0] = 0x45;
	store_be16(quote + 2, 19);
	assert_verdict(&packet, VERDICT_DROP_MALFORMED);

	packet_ipv6(&v6, VIP6, CLIENT6, IPPROTO_TCP);
	packet_ports(&v6, 8, 80, 1234);
	v6.bytes[v6.ip[1]] = 0x45;
	assert_verdict(&v6, VERDICT_DROP_MALFORMED);
}

static void test_quote_is_cut_where_the_error_ends(void **state)
{
	struct packet packet = packet_error4(3);

	(void)state;
	quote4(&packet, IPPROTO_TCP, 0, 7);
	packet_padding(&packet, 20); /* Ethernet's */
	assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
}

static void test_quotes_of_other_protocols_are_unmatched(void **state)
{
	struct packet icmp = packet_error4(3), icmp6 = packet_error6(1);

	(void)state;
	quote4(&icmp, IPPROTO_ICMP, 0, 8);
	assert_verdict(&icmp, VERDICT_DROP_UNMATCHED);
	packet_ipv6(&icmp6, VIP6, CLIENT6, IPPROTO_ICMPV6);
	packet_append(&icmp6, 8);
	assert_verdict(&icmp6, VERDICT_DROP_UNMATCHED);
}

/* Fragments */

static struct packet fragment4(uint8_t protocol, uint16_t flags_and_offset, uint32_t size)
{
	struct packet packet = packet_ethernet();

	store_be16(packet_ipv4(&packet, CLIENT, VIP, protocol) + 6, flags_and_offset);
	packet_ports(&packet, size, 1234, 80);
	return packet;
}

static struct packet fragment6(uint8_t protocol, uint16_t offset, bool more, uint32_t size)
{
	struct packet packet = packet_ethernet();

	packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_FRAGMENT);
	packet_fragment(&packet, protocol, offset, more);
	packet_ports(&packet, size, 1234, 80);
	return packet;
}

static void test_first_fragment_has_ports_and_gets_no_answer(void **state)
{
	struct packet v4 = fragment4(IPPROTO_TCP, 0x2000, 24),
		      v6 = fragment6(IPPROTO_TCP, 0, true, 24);

	(void)state;
	assert_false(assert_own_flow(&v4).answerable);
	assert_false(assert_own_flow(&v6).answerable);
	v4 = fragment4(IPPROTO_TCP, 0x2000, 16);
	v6 = fragment6(IPPROTO_TCP, 0, true, 16);
	assert_verdict(&v4, VERDICT_DROP_TRUNCATED);
	assert_verdict(&v6, VERDICT_DROP_TRUNCATED);
}

static void test_atomic_fragment_parses_on_and_gets_no_answer(void **state)
{
	struct packet packet = fragment6(IPPROTO_UDP, 0, false, 8);

	(void)state;
	assert_false(assert_own_flow(&packet).answerable);
	packet.bytes[packet.ip[0] + 43] |= 6; /* reserved bits, no offset */
	assert_own_flow(&packet);
}

static void test_dont_fragment_and_reserved_flag_make_no_fragment(void **state)
{
	struct packet packet = fragment4(IPPROTO_TCP, 0xc000, 20);

	(void)state;
	assert_true(assert_own_flow(&packet).answerable);
}

static void test_later_fragment_has_neither_ports_nor_hint(void **state)
{
	static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct packet v4 = fragment4(protocols[i], 1, 8),
			      v6 = fragment6(protocols[i], 1, false, 8);
		struct flow flow = assert_flow(&v4, FLOW_FRAGMENT, CLIENT, 0, VIP, 0);

		assert_int_equal(flow.hint, 0);
		assert_false(flow.answerable);
		flow = assert_flow(&v6, FLOW_FRAGMENT, CLIENT6, 0, VIP6, 0);
		assert_int_equal(flow.hint, 0);
		assert_false(flow.answerable);
	}
}

static void test_every_nonzero_offset_is_a_later_fragment(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 13; bit++) {
		struct packet v4 = fragment4(IPPROTO_TCP, (uint16_t)(1 << bit), 4);
		struct packet v6 = fragment6(IPPROTO_TCP, (uint16_t)(1 << bit), bit & 1, 4);

		assert_flow(&v4, FLOW_FRAGMENT, CLIENT, 0, VIP, 0);
		assert_flow(&v6, FLOW_FRAGMENT, CLIENT6, 0, VIP6, 0);
	}
}

static void test_later_fragment_may_be_shorter_than_any_header(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	store_be16(packet_ipv4(&packet, CLIENT, VIP, IPPROTO_UDP) + 6, 185);
	assert_flow(&packet, FLOW_FRAGMENT, CLIENT, 0, VIP, 0);
}

static void test_later_fragments_of_what_no_bind_matches_are_unmatched(void **state)
{
	(void)state;
	for (unsigned protocol = 0; protocol < 256; protocol++) {
		struct packet v4 = fragment4((uint8_t)protocol, 1, 8);
		struct packet v6 = fragment6((uint8_t)protocol, 1, true, 8);
		bool transport = protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
		bool hidden = protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING ||
			      protocol == IPPROTO_DSTOPTS;

		assert_verdict(&v4, transport || protocol == IPPROTO_ICMP ? VERDICT_FORWARDED
									  : VERDICT_DROP_UNMATCHED);
		assert_verdict(&v6, transport || hidden || protocol == IPPROTO_ICMPV6
					    ? VERDICT_FORWARDED
					    : VERDICT_DROP_UNMATCHED);
	}
}

static void test_later_fragments_of_pings_follow_the_pings(void **state)
{
	struct packet v4 = fragment4(IPPROTO_ICMP, 1, 8),
		      v6 = fragment6(IPPROTO_ICMPV6, 1, true, 8);
	struct flow flow;

	(void)state;
	assert_flow(&v4, FLOW_FRAGMENT, CLIENT, 0, VIP, 0);
	assert_flow(&v6, FLOW_FRAGMENT, CLIENT6, 0, VIP6, 0);
	assert_int_equal(
		flow_parse(v4.bytes, v4.size, v4.size, false, &flow), VERDICT_DROP_UNMATCHED);
	assert_int_equal(
		flow_parse(v6.bytes, v6.size, v6.size, false, &flow), VERDICT_DROP_UNMATCHED);
}

static void test_quoted_later_fragment_is_one_of_the_exchanged_flow(void **state)
{
	struct packet v4 = packet_error4(11), v6 = packet_error6(3);
	struct flow flow;

	(void)state;
	store_be16(packet_ipv4(&v4, VIP, CLIENT, IPPROTO_TCP) + 6, 100);
	packet_append(&v4, 8);
	flow = assert_flow(&v4, FLOW_FRAGMENT, CLIENT, 0, VIP, 0);
	assert_int_equal(flow.hint, 0);
	assert_false(flow.answerable);
	v4.bytes[v4.ip[1] + 9] =
		IPPROTO_ICMP; /* a ping's answer: no flow of ours, even with pings on */
	assert_verdict(&v4, VERDICT_DROP_UNMATCHED);

	packet_ipv6(&v6, VIP6, CLIENT6, IPPROTO_FRAGMENT);
	packet_fragment(&v6, IPPROTO_UDP, 7, true);
	assert_flow(&v6, FLOW_FRAGMENT, CLIENT6, 0, VIP6, 0);
	v6.bytes[v6.ip[1] + 40] = IPPROTO_ICMPV6;
	assert_verdict(&v6, VERDICT_DROP_UNMATCHED);
}

/* Every length */

static struct packet deep_quote4(void)
{
	struct packet packet = packet_ethernet();

	packet_tag(&packet, 0x88a8);
	packet_tag(&packet, 0x8100);
	packet_ipv4(&packet, "198.51.100.1", VIP, IPPROTO_ICMP);
	packet_options(&packet, 2);
	packet_icmp(&packet, 3, 4);
	quote4(&packet, IPPROTO_TCP, 3, 8);
	return packet;
}

static struct packet deep_quote6(void)
{
	struct packet packet = packet_ethernet();

	packet_tag(&packet, 0x8100);
	packet_ipv6(&packet, "2001:db8:ffff::1", VIP6, IPPROTO_HOPOPTS);
	packet_extension(&packet, IPPROTO_ICMPV6, 1);
	packet_icmp(&packet, 2, 0);
	packet_ipv6(&packet, VIP6, CLIENT6, IPPROTO_ROUTING);
	packet_extension(&packet, IPPROTO_FRAGMENT, 2);
	packet_fragment(&packet, IPPROTO_UDP, 0, true);
	packet_ports(&packet, 8, 80, 1234);
	return packet;
}

/* Each ends with the last byte that parsing needs. */
static struct packet shortest(unsigned which)
{
	switch (which) {
	case 0:
		return packet_tcp4(1234, 80);
	case 1:
		return packet_tcp6(1234, 80);
	case 2:
		return deep_quote4();
	default:
		return deep_quote6();
	}
}

static void test_every_shorter_frame_is_truncated(void **state)
{
	(void)state;
	for (unsigned which = 0; which < 4; which++) {
		struct packet packet = shortest(which);

		assert_verdict(&packet, VERDICT_FORWARDED);
		for (packet.size--; packet.size > 0; packet.size--)
			assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
		assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
	}
}

static void test_every_shorter_packet_is_truncated_though_its_length_is_right(void **state)
{
	(void)state;
	for (unsigned which = 0; which < 4; which++) {
		struct packet packet = shortest(which);
		uint32_t whole = packet.size, headers = packet.ip[0] + 40;

		if (packet.bytes[packet.ip[0]] >> 4 == 4)
			headers = packet.ip[0] + 4u * (packet.bytes[packet.ip[0]] & 0xf);
		for (packet.size = headers; packet.size < whole; packet.size++) {
			packet.ip_count = 1; /* the quote's length stays as it was */
			packet_fix_lengths(&packet);
			assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
		}
	}
}

static void test_headers_must_be_readable_the_rest_of_the_frame_need_not(void **state)
{
	(void)state;
	for (unsigned which = 0; which < 4; which++) {
		struct packet packet = shortest(which);
		uint32_t headers = packet.size;

		packet_append(&packet, 300);
		for (uint32_t readable = 0; readable <= packet.size; readable++) {
			struct flow flow;
			enum verdict verdict = flow_parse(guarded_copy(packet.bytes, readable),
				readable, packet.size, true, &flow);

			assert_int_equal(verdict,
				readable < headers ? VERDICT_DROP_TRUNCATED : VERDICT_FORWARDED);
			if (verdict == VERDICT_FORWARDED)
				assert_int_equal(flow.ip_size, packet.size - packet.ip[0]);
		}
	}
}

/* What comes out of damaged frames is not asserted; guard pages and sanitizers watch what is read.
 */
static void test_damaged_frames_are_read_only_inside(void **state)
{
	(void)state;
	srandom(20221);
	for (int i = 0; i < 200000; i++) {
		struct packet packet = shortest((unsigned)i % 4);
		uint32_t size = (uint32_t)random() % (packet.size + 1);
		struct flow flow;

		for (int flips = 0; flips < 3; flips++)
			packet.bytes[12 + (uint32_t)random() % (packet.size - 12)] =
				(uint8_t)random();
		if (flow_parse(guarded_copy(packet.bytes, size), size, size, true, &flow) ==
			VERDICT_FORWARDED)
			assert_in_range(flow.ip_offset + flow.ip_size, 34, size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_ethernet_header_is_truncated),
		cmocka_unit_test(test_one_and_two_tags_of_either_type_are_skipped),
		cmocka_unit_test(test_third_tag_is_unmatched),
		cmocka_unit_test(test_cut_tag_is_truncated),
		cmocka_unit_test(test_every_other_ethertype_is_unmatched),
		cmocka_unit_test(test_destination_mac_is_not_looked_at),
		cmocka_unit_test(test_tcp_and_udp_over_ipv4_are_their_own_flow),
		cmocka_unit_test(test_ports_lie_behind_ipv4_options),
		cmocka_unit_test(test_ihl_below_5_is_malformed),
		cmocka_unit_test(test_version_must_agree_with_ethertype),
		cmocka_unit_test(test_total_length_below_header_is_malformed),
		cmocka_unit_test(test_length_beyond_the_frame_is_truncated),
		cmocka_unit_test(test_malformed_is_said_before_truncated),
		cmocka_unit_test(test_padding_is_no_part_of_the_packet),
		cmocka_unit_test(test_ipv4_checksum_and_ttl_are_not_looked_at),
		cmocka_unit_test(test_other_protocols_are_unmatched),
		cmocka_unit_test(test_tcp_and_udp_over_ipv6_are_their_own_flow),
		cmocka_unit_test(test_ports_lie_behind_each_extension_header),
		cmocka_unit_test(test_eight_extension_headers_are_walked_the_ninth_is_dropped),
		cmocka_unit_test(test_ninth_extension_header_is_dropped_before_its_bytes_are_read),
		cmocka_unit_test(test_extension_header_beyond_the_packet_is_truncated),
		cmocka_unit_test(test_cut_tcp_and_udp_headers_are_truncated),
		cmocka_unit_test(test_tcp_data_offset_and_udp_length_are_not_looked_at),
		cmocka_unit_test(test_cut_icmp_headers_are_truncated),
		cmocka_unit_test(test_exactly_the_icmpv4_types_3_11_12_carry_a_quote),
		cmocka_unit_test(test_exactly_the_icmpv6_types_1_to_4_carry_a_quote),
		cmocka_unit_test(test_icmp_code_is_not_looked_at),
		cmocka_unit_test(test_icmp_of_the_other_family_is_unmatched),
		cmocka_unit_test(test_echo_request_has_no_ports_and_hints_its_identity),
		cmocka_unit_test(test_echo_request_is_unmatched_where_pings_are_not_forwarded),
		cmocka_unit_test(test_quote_is_the_proxys_flow_with_ends_exchanged),
		cmocka_unit_test(test_quote_with_options_is_the_proxys_flow),
		cmocka_unit_test(test_quote_with_extension_headers_is_the_proxys_flow),
		cmocka_unit_test(test_quote_with_nine_extension_headers_is_dropped),
		cmocka_unit_test(test_outer_extension_headers_do_not_count_for_the_quote),
		cmocka_unit_test(test_quote_needs_eight_bytes_of_tcp_or_udp),
		cmocka_unit_test(test_length_of_a_quote_is_not_compared_with_what_is_there),
		cmocka_unit_test(test_quote_that_contradicts_itself_is_malformed),
		cmocka_unit_test(test_quote_is_cut_where_the_error_ends),
		cmocka_unit_test(test_quotes_of_other_protocols_are_unmatched),
		cmocka_unit_test(test_first_fragment_has_ports_and_gets_no_answer),
		cmocka_unit_test(test_atomic_fragment_parses_on_and_gets_no_answer),
		cmocka_unit_test(test_dont_fragment_and_reserved_flag_make_no_fragment),
		cmocka_unit_test(test_later_fragment_has_neither_ports_nor_hint),
		cmocka_unit_test(test_every_nonzero_offset_is_a_later_fragment),
		cmocka_unit_test(test_later_fragment_may_be_shorter_than_any_header),
		cmocka_unit_test(test_later_fragments_of_what_no_bind_matches_are_unmatched),
		cmocka_unit_test(test_later_fragments_of_pings_follow_the_pings),
		cmocka_unit_test(test_quoted_later_fragment_is_one_of_the_exchanged_flow),
		cmocka_unit_test(test_every_shorter_frame_is_truncated),
		cmocka_unit_test(test_every_shorter_packet_is_truncated_though_its_length_is_right),
		cmocka_unit_test(test_headers_must_be_readable_the_rest_of_the_frame_need_not),
		cmocka_unit_test(test_damaged_frames_are_read_only_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
