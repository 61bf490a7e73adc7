/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of ICMP and of the packets that ICMP errors quote: docs/reference/steering.md#icmp-errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/packet/flow_helpers.h"

static void test_incomplete_icmp_headers_are_truncated(void **state)
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

static void test_only_icmpv4_types_3_11_12_are_errors(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		struct packet packet = packet_error4((uint8_t)type);

		quote4(&packet, IPPROTO_TCP, 0, 8);
		if (type == 3 || type == 11 || type == 12)
			assert_flow_of_quote(&packet);
		else if (type != 8)
			assert_verdict(&packet, VERDICT_DROP_UNMATCHED);
	}
}

static void test_only_icmpv6_types_1_to_4_are_errors(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		struct packet packet = packet_error6((uint8_t)type);

		packet_ipv6(&packet, VIP6, CLIENT6, IPPROTO_UDP);
		packet_ports(&packet, 8, 80, 1234);
		if (type >= 1 && type <= 4)
			assert_flow_of_quote(&packet);
		else if (type != 128)
			assert_verdict(&packet, VERDICT_DROP_UNMATCHED);
	}
}

static void test_icmp_code_is_ignored(void **state)
{
	struct packet packet = packet_error4(3);

	(void)state;
	quote4(&packet, IPPROTO_TCP, 0, 8);
	for (unsigned code = 0; code < 256; code++) {
		packet.bytes[35] = (uint8_t)code;
		assert_flow_of_quote(&packet);
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

static void test_echo_request_has_no_ports_and_a_hint_from_the_ip_header(void **state)
{
	struct packet v4 = packet_ethernet(), v6 = packet_ethernet();
	struct flow flow;

	(void)state;
	store_be16(packet_ipv4(&v4, CLIENT, VIP, IPPROTO_ICMP) + 4, 0xabcd);
	store_be16(packet_icmp(&v4, 8, 0) + 4, 0x1111); /* the ICMP identifier is not the hint */
	flow = assert_flow(&v4, FLOW_ECHO, CLIENT, 0, VIP, 0);
	assert_int_equal(flow.hint, 0xabcd);
	assert_true(flow.reply_allowed);

	store_be32(packet_ipv6(&v6, CLIENT6, VIP6, IPPROTO_ICMPV6), 0x6ff9beef);
	packet_icmp(&v6, 128, 0);
	flow = assert_flow(&v6, FLOW_ECHO, CLIENT6, 0, VIP6, 0);
	assert_int_equal(flow.hint, 0xbeef);
	assert_true(flow.reply_allowed);
}

/* Quotes */

static void test_quoted_flow_has_source_and_destination_exchanged(void **state)
{
	struct packet packet = packet_error4(3);
	struct flow flow;

	(void)state;
	quote4(&packet, IPPROTO_UDP, 0, 8);
	flow = assert_flow_of_quote(&packet);
	assert_int_equal(flow.protocol, IPPROTO_UDP);
	assert_int_equal(flow.hint, 1234); /* the client's port */
	assert_int_equal(flow.ip_size, 56); /* size of the ICMP error */
	assert_false(flow.reply_allowed);
}

static void test_quote_may_have_ipv4_options(void **state)
{
	(void)state;
	for (unsigned outer = 0; outer <= 10; outer++) {
		for (unsigned words = 0; words <= 10; words++) {
			struct packet packet = packet_ethernet();

			packet_ipv4(&packet, "198.51.100.1", VIP, IPPROTO_ICMP);
			packet_options(&packet, outer);
			packet_icmp(&packet, 3, 4);
			quote4(&packet, IPPROTO_TCP, words, 8);
			assert_flow_of_quote(&packet);
		}
	}
}

static void test_quote_may_have_extension_headers(void **state)
{
	struct packet packet = packet_error6(2);

	(void)state;
	packet_ipv6(&packet, VIP6, CLIENT6, IPPROTO_HOPOPTS);
	packet_extension(&packet, IPPROTO_FRAGMENT, 2);
	packet_fragment(&packet, IPPROTO_TCP, 0, true);
	packet_ports(&packet, 8, 80, 1234);
	assert_flow_of_quote(&packet);
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

static void test_extension_headers_of_packet_and_quote_are_counted_separately(void **state)
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
	assert_flow_of_quote(&packet);
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

static void test_length_in_a_quote_is_not_compared_with_its_bytes(void **state)
{
	static const uint16_t totals[] = {24, 27, 28, 1500, 0xffff};
	struct packet v4 = packet_error4(3), v6 = packet_error6(2);

	(void)state;
	quote4(&v4, IPPROTO_TCP, 0, 8);
	packet_ipv6(&v6, VIP6, CLIENT6, IPPROTO_TCP);
	packet_ports(&v6, 8, 80, 1234);
	for (unsigned i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		store_be16(v4.bytes + v4.ip[1] + 2, totals[i]);
		assert_flow_of_quote(&v4);
		store_be16(v6.bytes + v6.ip[1] + 4, (uint16_t)(totals[i] - 24));
		assert_flow_of_quote(&v6);
	}
}

static void test_quote_with_wrong_version_or_length_is_malformed(void **state)
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

static void test_quote_ends_where_the_icmp_error_ends(void **state)
{
	struct packet packet = packet_error4(3);

	(void)state;
	quote4(&packet, IPPROTO_TCP, 0, 7);
	packet_padding(&packet, 20); /* padding of the frame */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_incomplete_icmp_headers_are_truncated),
		cmocka_unit_test(test_only_icmpv4_types_3_11_12_are_errors),
		cmocka_unit_test(test_only_icmpv6_types_1_to_4_are_errors),
		cmocka_unit_test(test_icmp_code_is_ignored),
		cmocka_unit_test(test_icmp_of_the_other_family_is_unmatched),
		cmocka_unit_test(test_echo_request_has_no_ports_and_a_hint_from_the_ip_header),
		cmocka_unit_test(test_quoted_flow_has_source_and_destination_exchanged),
		cmocka_unit_test(test_quote_may_have_ipv4_options),
		cmocka_unit_test(test_quote_may_have_extension_headers),
		cmocka_unit_test(test_quote_with_nine_extension_headers_is_dropped),
		cmocka_unit_test(test_extension_headers_of_packet_and_quote_are_counted_separately),
		cmocka_unit_test(test_quote_needs_eight_bytes_of_tcp_or_udp),
		cmocka_unit_test(test_length_in_a_quote_is_not_compared_with_its_bytes),
		cmocka_unit_test(test_quote_with_wrong_version_or_length_is_malformed),
		cmocka_unit_test(test_quote_ends_where_the_icmp_error_ends),
		cmocka_unit_test(test_quotes_of_other_protocols_are_unmatched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
