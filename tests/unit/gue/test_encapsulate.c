/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <string.h>
#include <cmocka.h>

#include "common/byteorder.h"
#include "gue/encapsulate.h"
#include "tests/unit/guarded.h"

static const struct encapsulate_outer outer = {
	.destination_mac = {0x02, 0, 0, 0, 0, 0xfe},
	.source_mac = {0x02, 0, 0, 0, 0, 0x01},
};

/*
 * The one's complement sum of a header with its checksum is 0xffff (RFC 1071). Computed here without
 * src/common/checksum.
 */
static void assert_checksum_is_right(const uint8_t *header, unsigned size)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < size; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	while (sum > 0xffff)
		sum = (sum >> 16) + (sum & 0xffff);
	assert_int_equal(sum, 0xffff);
}

static void write_hops(uint8_t *to, unsigned count, uint32_t inner_size)
{
	struct encapsulate_outer from = outer;
	uint32_t hops[ENCAPSULATE_MAX_HOPS];

	from.source_ip = inet_addr("192.0.2.1");
	for (unsigned i = 0; i < ENCAPSULATE_MAX_HOPS; i++)
		hops[i] = htonl(0xc0a8320au + i);
	encapsulate_write(to, &from, hops, count, NULL, inner_size, 4, 0x8abc);
}

static void test_bytes_of_three_hops(void **state)
{
	static const uint8_t expected[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0xfe, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08,
		0x00,
		/* IPv4: 84 = 20 + 8 + 16 + 40, DF, ttl 64, UDP, 192.0.2.1 to 192.168.50.10 */
		0x45, 0x00, 0x00, 0x54, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x85, 0xe5, 0xc0, 0x00, 0x02, 0x01, 0xc0,
		0xa8, 0x32, 0x0a,
		/* UDP: 35516 to 19523, 64 = 8 + 16 + 40, no checksum */
		0x8a, 0xbc, 0x4c, 0x43, 0x00, 0x40, 0x00, 0x00,
		/* GUE: version 0, 3 words; IPv4 inside; no flags */
		0x03, 0x04, 0x00, 0x00,
		/* type 0, next hop 0 of 2, 192.168.50.11, 192.168.50.12 */
		0x00, 0x00, 0x00, 0x02, 0xc0, 0xa8, 0x32, 0x0b, 0xc0, 0xa8, 0x32, 0x0c};
	uint8_t *to = guarded_end() - sizeof(expected);

	(void)state;
	assert_int_equal(encapsulate_size(false, 3), sizeof(expected));
	memset(to, 0xa5, sizeof(expected));
	write_hops(to, 3, 40);
	assert_memory_equal(to, expected, sizeof(expected));
}

static void write_ipv6_hops(uint8_t *to, unsigned count, uint32_t inner_size)
{
	struct net_ipv6_address addresses[ENCAPSULATE_MAX_IPV6];
	uint32_t hops[ENCAPSULATE_MAX_IPV6];
	struct encapsulate_outer from = outer;

	memcpy(from.source_ip6, (uint8_t[16]){0x20, 0x01, 0x0d, 0xb8, [15] = 1}, 16);
	for (unsigned i = 0; i < ENCAPSULATE_MAX_IPV6; i++) {
		hops[i] = ENCAPSULATE_MAX_IPV6 - 1 - i; /* indices in any order */
		addresses[hops[i]] = (struct net_ipv6_address){{0xfd, 0x50, [15] = (uint8_t)(0x0a + i)}};
	}
	encapsulate_write(to, &from, hops, count, addresses, inner_size, 4, 0x8abc);
}

static void test_bytes_of_three_ipv6_hops(void **state)
{
	static const uint8_t expected[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0xfe, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x86,
		0xdd,
		/* IPv6: flow label 0x8abc, 88 = 8 + 40 + 40, UDP, hop limit 64, 2001:db8::1 to fd50::a */
		0x60, 0x00, 0x8a, 0xbc, 0x00, 0x58, 0x11, 0x40, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x01, 0xfd, 0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0a,
		/* UDP: 35516 to 19523, no checksum */
		0x8a, 0xbc, 0x4c, 0x43, 0x00, 0x58, 0x00, 0x00,
		/* GUE: version 0, 9 words; IPv4 inside; no flags */
		0x09, 0x04, 0x00, 0x00,
		/* type 1, next hop 0 of 2, fd50::b, fd50::c */
		0x00, 0x01, 0x00, 0x02, 0xfd, 0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0b, 0xfd, 0x50, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0c};
	uint8_t *to = guarded_end() - sizeof(expected);

	(void)state;
	assert_int_equal(encapsulate_size(true, 3), sizeof(expected));
	memset(to, 0xa5, sizeof(expected));
	write_ipv6_hops(to, 3, 40);
	assert_memory_equal(to, expected, sizeof(expected));
}

static void test_lengths_for_every_number_of_ipv6_hops(void **state)
{
	(void)state;
	for (unsigned count = 1; count <= ENCAPSULATE_MAX_IPV6; count++) {
		uint32_t size = encapsulate_size(true, count);
		uint8_t *to = guarded_end() - size;

		assert_int_equal(size, 14 + 40 + 8 + 8 + 16 * (count - 1));
		for (uint32_t inner = 20; inner < 9200; inner += 17) {
			memset(to - 1, 0xff, size + 1);
			write_ipv6_hops(to, count, inner);
			assert_int_equal(to[-1], 0xff);
			assert_int_equal(load_be16(to + 18), size - 54 + inner);
			assert_int_equal(load_be16(to + 58), size - 54 + inner);
			assert_int_equal(to[62], 4 * count - 3);
			assert_int_equal(to[69], count - 1);
			assert_int_equal(to[count > 1 ? size - 1 : 53], 0x0a + count - 1);
		}
	}
	assert_int_equal(encapsulate_size(true, ENCAPSULATE_MAX_IPV6), ENCAPSULATE_MAX_SIZE);
}

static void test_ipv6_inside_is_protocol_41(void **state)
{
	uint8_t to[ENCAPSULATE_MAX_SIZE];
	uint32_t hop = inet_addr("192.168.50.10");

	(void)state;
	encapsulate_write(to, &outer, &hop, 1, NULL, 60, 41, 0x8000);
	assert_int_equal(to[14 + 28], 1); /* words */
	assert_int_equal(to[14 + 29], 41);
	assert_int_equal(to[14 + 35], 0); /* no later hops */
}

static void test_lengths_and_checksum_for_every_number_of_hops(void **state)
{
	(void)state;
	for (unsigned count = 1; count <= ENCAPSULATE_MAX_HOPS; count++) {
		uint32_t size = encapsulate_size(false, count);
		uint8_t *to = guarded_end() - size;

		assert_int_equal(size, 14 + 20 + 8 + 8 + 4 * (count - 1));
		for (uint32_t inner = 20; inner < 9200; inner += 17) {
			memset(to, 0xff, size);
			write_hops(to, count, inner);
			assert_int_equal(load_be16(to + 16), size - 14 + inner);
			assert_int_equal(load_be16(to + 38), size - 34 + inner);
			assert_checksum_is_right(to + 14, 20);
			assert_int_equal(to[42], count);
			assert_int_equal(to[49], count - 1);
			if (count > 1)
				assert_int_equal(to[size - 1], 0x0a + count - 1); /* the last byte of the last hop */
		}
	}
}

static void test_nothing_is_written_outside_the_headers(void **state)
{
	uint8_t bytes[ENCAPSULATE_MAX_SIZE + 2];

	(void)state;
	for (unsigned count = 1; count <= ENCAPSULATE_MAX_HOPS; count++) {
		memset(bytes, 0xa5, sizeof(bytes));
		write_hops(bytes + 1, count, 40);
		assert_int_equal(bytes[0], 0xa5);
		assert_int_equal(bytes[1 + encapsulate_size(false, count)], 0xa5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_of_three_hops),
		cmocka_unit_test(test_bytes_of_three_ipv6_hops),
		cmocka_unit_test(test_lengths_for_every_number_of_ipv6_hops),
		cmocka_unit_test(test_ipv6_inside_is_protocol_41),
		cmocka_unit_test(test_lengths_and_checksum_for_every_number_of_hops),
		cmocka_unit_test(test_nothing_is_written_outside_the_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
