/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of packets of every shorter length, and of damaged packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/packet/flow_helpers.h"

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

/* Packets that end with the last byte that the parser needs. */
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

static void test_every_shorter_packet_is_truncated_even_if_its_length_is_right(void **state)
{
	(void)state;
	for (unsigned which = 0; which < 4; which++) {
		struct packet packet = shortest(which);
		uint32_t whole = packet.size, headers = packet.ip[0] + 40;

		if (packet.bytes[packet.ip[0]] >> 4 == 4)
			headers = packet.ip[0] + 4u * (packet.bytes[packet.ip[0]] & 0xf);
		for (packet.size = headers; packet.size < whole; packet.size++) {
			packet.ip_count = 1; /* the length in the quote is unchanged */
			packet_fix_lengths(&packet);
			assert_verdict(&packet, VERDICT_DROP_TRUNCATED);
		}
	}
}

static void test_only_the_headers_must_be_readable(void **state)
{
	(void)state;
	for (unsigned which = 0; which < 4; which++) {
		struct packet packet = shortest(which);
		uint32_t headers = packet.size;

		packet_append(&packet, 300);
		for (uint32_t readable = 0; readable <= packet.size; readable++) {
			struct flow flow;
			enum verdict verdict =
				flow_parse(guarded_copy(packet.bytes, readable), readable, packet.size, &flow);

			assert_int_equal(verdict, readable < headers ? VERDICT_DROP_TRUNCATED : VERDICT_FORWARDED);
			if (verdict == VERDICT_FORWARDED)
				assert_int_equal(flow.ip_size, packet.size - packet.ip[0]);
		}
	}
}

/* Guard pages and sanitizers detect reads outside a frame. Of the results, only the length is asserted. */
static void test_nothing_outside_damaged_frames_is_read(void **state)
{
	(void)state;
	srandom(20221);
	for (int i = 0; i < 200000; i++) {
		struct packet packet = shortest((unsigned)i % 4);
		uint32_t size = (uint32_t)random() % (packet.size + 1);
		struct flow flow;

		for (int flips = 0; flips < 3; flips++)
			packet.bytes[12 + (uint32_t)random() % (packet.size - 12)] = (uint8_t)random();
		if (flow_parse(guarded_copy(packet.bytes, size), size, size, &flow) == VERDICT_FORWARDED)
			assert_in_range(flow.ip_offset + flow.ip_size, 34, size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_shorter_frame_is_truncated),
		cmocka_unit_test(test_every_shorter_packet_is_truncated_even_if_its_length_is_right),
		cmocka_unit_test(test_only_the_headers_must_be_readable),
		cmocka_unit_test(test_nothing_outside_damaged_frames_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
