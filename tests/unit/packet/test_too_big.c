/* SPDX-License-Identifier: BSD-3-Clause */
/* Too-big replies (docs/reference/steering.md#too-big-replies). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "packet/icmp/too_big.h"
#include "tests/unit/guarded.h"
#include "tests/unit/packets.h"

static const struct encapsulate_outer outer = {
	.destination_mac = {0x02, 0, 0, 0, 0, 0xfe},
	.source_mac = {0x02, 0, 0, 0, 0, 0x01},
};

static uint32_t fold(uint32_t sum, const uint8_t *at, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		sum += i % 2 ? at[i] : (uint32_t)at[i] << 8;
	while (sum > 0xffff)
		sum = (sum >> 16) + (sum & 0xffff);
	return sum;
}

/* Places an IP packet of `size` bytes so that it ends at the guard page, after bytes of 0xa5. */
static uint8_t *place(struct packet *packet, uint32_t size)
{
	uint32_t offset = packet->ip[0];

	packet_append(packet, size - (packet->size - offset));
	memset(guarded_begin(), 0xa5, GUARDED_SIZE);
	return memcpy(guarded_end() - size, packet->bytes + offset, size);
}

static void test_bytes_of_an_ipv4_reply(void **state)
{
	static const uint8_t expected[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0xfe, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08,
		0x00,
		/* IPv4: 68 bytes, DF, ttl 64, ICMP, from 10.10.10.10 to 192.0.2.33 */
		0x45, 0x00, 0x00, 0x44, 0x00, 0x00, 0x40, 0x00, 0x40, 0x01, 0x64, 0x84, 0x0a, 0x0a, 0x0a, 0x0a, 0xc0,
		0x00, 0x02, 0x21,
		/* fragmentation needed, MTU 1460 */
		0x03, 0x04, 0x99, 0xc1, 0x00, 0x00, 0x05, 0xb4,
		/* the packet, quoted */
		0x45, 0x00, 0x00, 0x28, 0x00, 0x00, 0x00, 0x00, 0x3d, 0x06, 0x00, 0x00, 0xc0, 0x00, 0x02, 0x21, 0x0a,
		0x0a, 0x0a, 0x0a, 0x04, 0xd2, 0x00, 0x50, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
	struct packet packet = packet_tcp4(1234, 80);
	uint8_t *ip = place(&packet, 40), *frame;
	uint32_t size;

	(void)state;
	frame = too_big_write(ip, 40, NETADDR_V4, &outer, 1460, &size);
	assert_int_equal(size, sizeof(expected));
	assert_ptr_equal(frame, ip - 42);
	assert_memory_equal(frame, expected, sizeof(expected));
	assert_int_equal(frame[-1], 0xa5);
}

static void test_bytes_of_an_ipv6_reply(void **state)
{
	static const uint8_t expected[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0xfe, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x86,
		0xdd,
		/* IPv6: 68 bytes of ICMPv6, hop limit 64, from fdb4::10 to 2001:db8::33 */
		0x60, 0x00, 0x00, 0x00, 0x00, 0x44, 0x3a, 0x40, 0xfd, 0xb4, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x33,
		/* packet too big, MTU 1456 */
		0x02, 0x00};
	struct packet packet = packet_tcp6(1234, 80);
	uint8_t *ip = place(&packet, 60), *frame;
	uint8_t pseudo[40] = {0};
	uint32_t size;

	(void)state;
	frame = too_big_write(ip, 60, NETADDR_V6, &outer, 1456, &size);
	assert_int_equal(size, 14 + 40 + 8 + 60);
	assert_ptr_equal(frame, ip - TOO_BIG_HEADROOM);
	assert_memory_equal(frame, expected, sizeof(expected));
	assert_int_equal(load_be32(frame + 58), 1456);
	assert_memory_equal(frame + 62, packet.bytes + 14, 60);
	assert_int_equal(frame[-1], 0xa5);

	memcpy(pseudo, frame + 22, 32); /* RFC 4443 section 2.3 */
	pseudo[35] = 68;
	pseudo[39] = 58;
	assert_int_equal(fold(fold(0, pseudo, 40), frame + 54, 68), 0xffff);
}

static void test_mtu_is_at_least_the_minimum_of_the_family(void **state)
{
	static const struct {
		uint32_t mtu, v4, v6;
	} cases[] = {{540, 576, 1280}, {576, 576, 1280}, {577, 577, 1280}, {1280, 1280, 1280}, {1281, 1281, 1281},
		{9180, 9180, 9180}};
	uint32_t size;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct packet v4 = packet_tcp4(1234, 80), v6 = packet_tcp6(1234, 80);

		assert_int_equal(
			load_be32(too_big_write(place(&v4, 40), 40, NETADDR_V4, &outer, cases[i].mtu, &size) + 38),
			cases[i].v4);
		assert_int_equal(
			load_be32(too_big_write(place(&v6, 60), 60, NETADDR_V6, &outer, cases[i].mtu, &size) + 58),
			cases[i].v6);
	}
}

static void test_quote_is_as_long_as_the_minimum_mtu_allows(void **state)
{
	(void)state;
	for (uint32_t inner = 60; inner < 1600; inner++) {
		struct packet v4 = packet_tcp4(1234, 80), v6 = packet_tcp6(1234, 80);
		uint32_t size, quoted = inner < 548 ? inner : 548;
		uint8_t *frame = too_big_write(place(&v4, inner), inner, NETADDR_V4, &outer, 1400, &size);

		assert_int_equal(size, 14 + 28 + quoted);
		assert_int_equal(load_be16(frame + 16), 28 + quoted);
		assert_memory_equal(frame + 42, v4.bytes + 14, quoted);
		assert_int_equal(fold(0, frame + 14, 20), 0xffff);
		assert_int_equal(fold(0, frame + 34, 8 + quoted), 0xffff);

		quoted = inner < 1232 ? inner : 1232;
		frame = too_big_write(place(&v6, inner), inner, NETADDR_V6, &outer, 1400, &size);
		assert_int_equal(size, 14 + 48 + quoted);
		assert_int_equal(load_be16(frame + 18), 8 + quoted);
		assert_memory_equal(frame + 62, v6.bytes + 14, quoted);
	}
}

static void test_only_readable_bytes_are_quoted(void **state)
{
	struct packet packet = packet_tcp4(1234, 80);
	uint8_t *ip = place(&packet, 300);
	uint32_t size;

	(void)state;
	too_big_write(ip, 300, NETADDR_V4, &outer, 1400, &size);
	assert_int_equal(size, 42 + 300);
	packet = packet_tcp4(1234, 80);
	ip = place(&packet, 60); /* reading the next byte would fault */
	too_big_write(ip, 60, NETADDR_V4, &outer, 1400, &size);
	assert_int_equal(size, 42 + 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_of_an_ipv4_reply),
		cmocka_unit_test(test_bytes_of_an_ipv6_reply),
		cmocka_unit_test(test_mtu_is_at_least_the_minimum_of_the_family),
		cmocka_unit_test(test_quote_is_as_long_as_the_minimum_mtu_allows),
		cmocka_unit_test(test_only_readable_bytes_are_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
