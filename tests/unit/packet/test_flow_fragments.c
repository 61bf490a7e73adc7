/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of first and later fragments: docs/reference/steering.md#later-fragments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/packet/flow_helpers.h"

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

static void test_first_fragment_has_ports_and_allows_no_reply(void **state)
{
	struct packet v4 = fragment4(IPPROTO_TCP, 0x2000, 24), v6 = fragment6(IPPROTO_TCP, 0, true, 24);

	(void)state;
	assert_false(assert_flow_of_packet(&v4).reply_allowed);
	assert_false(assert_flow_of_packet(&v6).reply_allowed);
	v4 = fragment4(IPPROTO_TCP, 0x2000, 16);
	v6 = fragment6(IPPROTO_TCP, 0, true, 16);
	assert_verdict(&v4, VERDICT_DROP_TRUNCATED);
	assert_verdict(&v6, VERDICT_DROP_TRUNCATED);
}

static void test_atomic_fragment_has_ports_and_allows_no_reply(void **state)
{
	struct packet packet = fragment6(IPPROTO_UDP, 0, false, 8);

	(void)state;
	assert_false(assert_flow_of_packet(&packet).reply_allowed);
	packet.bytes[packet.ip[0] + 43] |= 6; /* reserved bits; the offset stays 0 */
	assert_flow_of_packet(&packet);
}

static void test_packet_with_dont_fragment_and_reserved_flag_is_no_fragment(void **state)
{
	struct packet packet = fragment4(IPPROTO_TCP, 0xc000, 20);

	(void)state;
	assert_true(assert_flow_of_packet(&packet).reply_allowed);
}

static void test_later_fragment_has_neither_ports_nor_hint(void **state)
{
	static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct packet v4 = fragment4(protocols[i], 1, 8), v6 = fragment6(protocols[i], 1, false, 8);
		struct flow flow = assert_flow(&v4, FLOW_FRAGMENT, CLIENT, 0, VIP, 0);

		assert_int_equal(flow.hint, 0);
		assert_false(flow.reply_allowed);
		flow = assert_flow(&v6, FLOW_FRAGMENT, CLIENT6, 0, VIP6, 0);
		assert_int_equal(flow.hint, 0);
		assert_false(flow.reply_allowed);
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

static void test_later_fragments_of_other_protocols_are_unmatched(void **state)
{
	(void)state;
	for (unsigned protocol = 0; protocol < 256; protocol++) {
		struct packet v4 = fragment4((uint8_t)protocol, 1, 8);
		struct packet v6 = fragment6((uint8_t)protocol, 1, true, 8);
		bool transport = protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
		bool hidden = protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING || protocol == IPPROTO_DSTOPTS;

		assert_verdict(&v4, transport || protocol == IPPROTO_ICMP ? VERDICT_FORWARDED : VERDICT_DROP_UNMATCHED);
		assert_verdict(&v6,
			transport || hidden || protocol == IPPROTO_ICMPV6 ? VERDICT_FORWARDED : VERDICT_DROP_UNMATCHED);
	}
}

static void test_later_fragments_of_pings_are_flows(void **state)
{
	struct packet v4 = fragment4(IPPROTO_ICMP, 1, 8), v6 = fragment6(IPPROTO_ICMPV6, 1, true, 8);

	(void)state;
	assert_int_equal(assert_flow(&v4, FLOW_FRAGMENT, CLIENT, 0, VIP, 0).protocol, IPPROTO_ICMP);
	assert_int_equal(assert_flow(&v6, FLOW_FRAGMENT, CLIENT6, 0, VIP6, 0).protocol, IPPROTO_ICMPV6);
}

static void test_quoted_later_fragment_has_source_and_destination_exchanged(void **state)
{
	struct packet v4 = packet_error4(11), v6 = packet_error6(3);
	struct flow flow;

	(void)state;
	store_be16(packet_ipv4(&v4, VIP, CLIENT, IPPROTO_TCP) + 6, 100);
	packet_append(&v4, 8);
	flow = assert_flow(&v4, FLOW_FRAGMENT, CLIENT, 0, VIP, 0);
	assert_int_equal(flow.hint, 0);
	assert_false(flow.reply_allowed);
	v4.bytes[v4.ip[1] + 9] = IPPROTO_ICMP; /* an echo reply, which is no flow, even if pings are forwarded */
	assert_verdict(&v4, VERDICT_DROP_UNMATCHED);

	packet_ipv6(&v6, VIP6, CLIENT6, IPPROTO_FRAGMENT);
	packet_fragment(&v6, IPPROTO_UDP, 7, true);
	assert_flow(&v6, FLOW_FRAGMENT, CLIENT6, 0, VIP6, 0);
	v6.bytes[v6.ip[1] + 40] = IPPROTO_ICMPV6;
	assert_verdict(&v6, VERDICT_DROP_UNMATCHED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_fragment_has_ports_and_allows_no_reply),
		cmocka_unit_test(test_atomic_fragment_has_ports_and_allows_no_reply),
		cmocka_unit_test(test_packet_with_dont_fragment_and_reserved_flag_is_no_fragment),
		cmocka_unit_test(test_later_fragment_has_neither_ports_nor_hint),
		cmocka_unit_test(test_every_nonzero_offset_is_a_later_fragment),
		cmocka_unit_test(test_later_fragment_may_be_shorter_than_any_header),
		cmocka_unit_test(test_later_fragments_of_other_protocols_are_unmatched),
		cmocka_unit_test(test_later_fragments_of_pings_are_flows),
		cmocka_unit_test(test_quoted_later_fragment_has_source_and_destination_exchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
