/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/net.h"

/* Returns the bytes left behind what was skipped, or -1. */
static int skip_frame(const uint8_t *frame, size_t size, uint16_t *type)
{
	struct span at = span_of(frame, size);

	return net_skip_ethernet(&at, type) ? (int)span_size(&at) : -1;
}

static void test_ethernet_is_skipped_with_up_to_two_tags(void **state)
{
	uint8_t frame[40] = {0};
	uint16_t type;

	(void)state;
	memcpy(frame + 12, "\x08\x00", 2);
	assert_int_equal(skip_frame(frame, sizeof(frame), &type), 40 - 14);
	assert_int_equal(type, NET_TYPE_IPV4);
	memcpy(frame + 12, "\x81\x00\x00\x07\x86\xdd", 6);
	assert_int_equal(skip_frame(frame, sizeof(frame), &type), 40 - 18);
	assert_int_equal(type, NET_TYPE_IPV6);
	memcpy(frame + 12, "\x88\xa8\x00\x07\x81\x00\x00\x08\x08\x00", 10);
	assert_int_equal(skip_frame(frame, sizeof(frame), &type), 40 - 22);
	assert_int_equal(type, NET_TYPE_IPV4);
	memcpy(frame + 12, "\x88\xa8\x00\x07\x81\x00\x00\x08\x81\x00\x00\x09\x08\x00", 14);
	assert_int_equal(skip_frame(frame, sizeof(frame), &type), 40 - 22);
	assert_int_equal(type, NET_TYPE_CTAG);
}

static void test_a_frame_that_ends_in_its_headers_is_refused(void **state)
{
	static const uint8_t frame[22] = "\1\2\3\4\5\6\7\10\11\12\13\14\x88\xa8\x00\x07\x81\x00\x00\x08\x08";
	uint16_t type;

	(void)state;
	for (size_t size = 0; size < sizeof(frame); size++)
		assert_int_equal(skip_frame(frame, size, &type), -1);
	assert_int_equal(skip_frame(frame, sizeof(frame), &type), 0);
}

/* RFC 1071 section 3: the sum of these is ddf2. */
static void test_checksum_of_the_example_of_the_rfc(void **state)
{
	static const uint8_t bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

	(void)state;
	assert_int_equal(net_checksum_finish(net_checksum_add(0, bytes, sizeof(bytes))), 0xffff ^ 0xddf2);
}

static void test_checksum_of_a_captured_header(void **state)
{
	static const uint8_t header[] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0,
		0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};

	(void)state;
	assert_int_equal(net_checksum_finish(net_checksum_add(0, header, sizeof(header))), 0xb861);
}

static void test_odd_last_byte_counts_as_the_high_one(void **state)
{
	static const uint8_t odd[] = {0x12, 0x34, 0x56}, even[] = {0x12, 0x34, 0x56, 0x00};

	(void)state;
	assert_int_equal(
		net_checksum_finish(net_checksum_add(0, odd, 3)), net_checksum_finish(net_checksum_add(0, even, 4)));
	assert_int_equal(net_checksum_finish(net_checksum_add(0, odd, 3)), 0xffff ^ 0x6834);
	assert_int_equal(net_checksum_finish(net_checksum_add(0, odd, 0)), 0xffff);
}

static void test_pieces_sum_to_the_whole(void **state)
{
	uint8_t bytes[1501];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random();
	for (size_t cut = 0; cut < sizeof(bytes); cut += 2)
		assert_int_equal(net_checksum_finish(net_checksum_add(
					 net_checksum_add(0, bytes, cut), bytes + cut, sizeof(bytes) - cut)),
			net_checksum_finish(net_checksum_add(0, bytes, sizeof(bytes))));
}

static void test_carries_fold_until_none_is_left(void **state)
{
	static uint8_t bytes[65536];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0xff;
	assert_int_equal(net_checksum_finish(net_checksum_add(0, bytes, sizeof(bytes))), 0);
	assert_int_equal(net_checksum_finish(0x1ffff), 0xffff ^ 1); /* folds to 10000, then to 1 */
	assert_int_equal(net_checksum_finish(0xffffffff), 0);
}

static void test_ethernet_header(void **state)
{
	uint8_t header[NET_ETHERNET_SIZE];

	(void)state;
	net_write_ethernet(header, (const uint8_t *)"\1\2\3\4\5\6", (const uint8_t *)"\7\10\11\12\13\14", NET_TYPE_IPV6);
	assert_memory_equal(header, "\1\2\3\4\5\6\7\10\11\12\13\14\x86\xdd", sizeof(header));
}

/* The example of https://en.wikipedia.org/wiki/Internet_checksum: its checksum is b861. */
static void test_ipv4_header(void **state)
{
	static const uint8_t expected[] = {
		0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 192, 168, 0, 1, 192, 168, 0, 199};
	uint8_t header[NET_IPV4_SIZE];

	(void)state;
	memset(header, 0xff, sizeof(header));
	net_write_ipv4(header, &(struct net_ipv4){
				       .source = expected + 12,
				       .destination = expected + 16,
				       .total_length = 0x73,
				       .fragment = NET_DONT_FRAGMENT,
				       .protocol = IPPROTO_UDP,
			       });
	assert_memory_equal(header, expected, sizeof(expected));
	net_write_ipv4(header,
		&(struct net_ipv4){.source = expected + 12, .destination = expected + 16, .identification = 0x1234});
	assert_memory_equal(header + 4, "\x12\x34\x00\x00\x40\x00", 6);
}

static void test_ipv6_header(void **state)
{
	static const uint8_t start[] = {0x60, 0, 0, 0, 0x12, 0x34, 58, 64};
	uint8_t header[NET_IPV6_SIZE], source[16], destination[16];

	(void)state;
	memset(header, 0xff, sizeof(header));
	memset(source, 1, sizeof(source));
	memset(destination, 2, sizeof(destination));
	net_write_ipv6(header, &(struct net_ipv6){.source = source,
				       .destination = destination,
				       .payload_length = 0x1234,
				       .protocol = IPPROTO_ICMPV6});
	assert_memory_equal(header, start, sizeof(start));
	assert_memory_equal(header + 8, source, 16);
	assert_memory_equal(header + 24, destination, 16);
	/* 8 words 0x0101, 8 words 0x0202, the length as a 32-bit and the protocol as a 32-bit number. */
	assert_int_equal(net_pseudo_sum_ipv6(header), 8 * 0x0101 + 8 * 0x0202 + 0x1234 + 58);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ethernet_is_skipped_with_up_to_two_tags),
		cmocka_unit_test(test_a_frame_that_ends_in_its_headers_is_refused),
		cmocka_unit_test(test_checksum_of_the_example_of_the_rfc),
		cmocka_unit_test(test_checksum_of_a_captured_header),
		cmocka_unit_test(test_odd_last_byte_counts_as_the_high_one),
		cmocka_unit_test(test_pieces_sum_to_the_whole),
		cmocka_unit_test(test_carries_fold_until_none_is_left),
		cmocka_unit_test(test_ethernet_header),
		cmocka_unit_test(test_ipv4_header),
		cmocka_unit_test(test_ipv6_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
