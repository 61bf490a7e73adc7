/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/net.h"
#include "health/echo.h"

static const struct echo request = {.identifier = 0x1234, .sequence = 0x5678, .nonce = "fifteen bytes.."};

static struct netaddr address(const char *text)
{
	struct netaddr addr;

	assert_true(netaddr_parse(text, &addr));
	return addr;
}

/* The expected bytes were written by hand from RFC 791 and 792. */
static void test_ipv4_request(void **state)
{
	static const uint8_t expected[] = {
		0x45, 0, 0, 44, 0x56, 0x78, 0, 0, 64, 1, 0x10, 0x54, 192, 0, 2, 1, 192, 0, 2, 2, 8, 0};
	struct netaddr source = address("192.0.2.1"), destination = address("192.0.2.2");
	uint8_t packet[ECHO_MAX_SIZE];

	(void)state;
	assert_int_equal(echo_write(packet, &source, &destination, &request), 44);
	assert_memory_equal(packet, expected, 10);
	assert_memory_equal(packet + 12, expected + 12, 10);
	assert_int_equal(net_checksum_finish(net_checksum_add(0, packet, 20)), 0);
	assert_int_equal(net_checksum_finish(net_checksum_add(0, packet + 20, 24)), 0);
	assert_memory_equal(packet + 24,
		"\x12\x34\x56\x78"
		"fifteen bytes..",
		20);
}

static void test_ipv6_request(void **state)
{
	struct netaddr source = address("2001:db8::1"), destination = address("2001:db8::2");
	uint8_t packet[ECHO_MAX_SIZE], pseudo[40] = {0};

	(void)state;
	assert_int_equal(echo_write(packet, &source, &destination, &request), 64);
	assert_memory_equal(packet, "\x60\0\0\0\0\x18\x3a\x40", 8);
	assert_int_equal(packet[40], 128);
	memcpy(pseudo, packet + 8, 32);
	pseudo[35] = 24;
	pseudo[39] = 58;
	assert_int_equal(net_checksum_finish(net_checksum_add(net_checksum_add(0, pseudo, 40), packet + 40, 24)), 0);
}

static void test_gue_header_has_no_hops(void **state)
{
	struct netaddr v4 = address("192.0.2.1"), v6 = address("2001:db8::1");
	uint8_t packet[ECHO_TUNNEL_MAX_SIZE];

	(void)state;
	assert_int_equal(echo_write_gue(packet, NETADDR_V4, &v4, &v4, &request), 52);
	assert_memory_equal(packet, "\x01\x04\0\0\0\0\0\0\x45", 9);
	assert_int_equal(echo_write_gue(packet, NETADDR_V4, &v6, &v6, &request), 72);
	assert_memory_equal(packet, "\x01\x29\0\0\0\0\0\0\x60", 9);
	/* The type of the private data is that of the outer header, whatever is inside. */
	assert_int_equal(echo_write_gue(packet, NETADDR_V6, &v4, &v4, &request), 52);
	assert_memory_equal(packet, "\x01\x04\0\0\0\x01\0\0\x45", 9);
	assert_int_equal(echo_write_gue(packet, NETADDR_V6, &v6, &v6, &request), 72);
	assert_memory_equal(packet, "\x01\x29\0\0\0\x01\0\0\x60", 9);
}

/* The bytes are those of RFC 2890: key present, protocol type, key 0. */
static void test_gre_header_has_a_key_of_zero(void **state)
{
	struct netaddr v4 = address("192.0.2.1"), v6 = address("2001:db8::1");
	uint8_t packet[ECHO_TUNNEL_MAX_SIZE];

	(void)state;
	assert_int_equal(echo_write_gre(packet, &v4, &v4, &request), 52);
	assert_memory_equal(packet, "\x20\0\x08\0\0\0\0\0\x45", 9);
	assert_int_equal(echo_write_gre(packet, &v6, &v6, &request), 72);
	assert_memory_equal(packet, "\x20\0\x86\xdd\0\0\0\0\x60", 9);
}

static void test_reply_is_read_back(void **state)
{
	struct netaddr v4 = address("192.0.2.1"), v6 = address("2001:db8::1");
	uint8_t packet[ECHO_MAX_SIZE];
	struct echo echo;
	size_t size = echo_write(packet, &v4, &v4, &request);

	(void)state;
	assert_false(echo_read_reply_ipv4(packet, size, &echo)); /* still a request */
	assert_true(echo_read_request(packet, size, &echo));
	packet[20] = 0;
	assert_true(echo_read_reply_ipv4(packet, size, &echo));
	assert_memory_equal(&echo, &request, sizeof(echo));
	for (size_t cut = 0; cut < size; cut++)
		assert_false(echo_read_reply_ipv4(packet, cut, &echo));
	packet[21] = 1; /* replies have code 0 */
	assert_false(echo_read_reply_ipv4(packet, size, &echo));
	size = echo_write(packet, &v6, &v6, &request);
	assert_true(echo_read_request(packet, size, &echo));
	packet[40] = 129;
	assert_true(echo_read_reply(packet + 40, size - 40, NETADDR_V6, &echo));
	assert_memory_equal(&echo, &request, sizeof(echo));
	assert_false(echo_read_reply(packet + 40, size - 40, NETADDR_V4, &echo));
}

/* The kernel does not verify the ICMPv4 checksum for raw sockets. Every other byte of the reply is compared. */
static void test_a_flipped_bit_makes_another_reply(void **state)
{
	struct netaddr v4 = address("192.0.2.1");
	uint8_t packet[ECHO_MAX_SIZE];
	struct echo echo;
	size_t size = echo_write(packet, &v4, &v4, &request);

	(void)state;
	packet[20] = 0;
	for (size_t bit = 8 * 20; bit < 8 * size; bit++) {
		bool in_checksum = bit / 8 == 22 || bit / 8 == 23;
		bool same;

		packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
		same = echo_read_reply_ipv4(packet, size, &echo) && memcmp(&echo, &request, sizeof(echo)) == 0;
		assert_int_equal(same, in_checksum);
		packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4_request),
		cmocka_unit_test(test_ipv6_request),
		cmocka_unit_test(test_gue_header_has_no_hops),
		cmocka_unit_test(test_gre_header_has_a_key_of_zero),
		cmocka_unit_test(test_reply_is_read_back),
		cmocka_unit_test(test_a_flipped_bit_makes_another_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
