/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/checksum.h"

/* RFC 1071 section 3: the sum of these is ddf2. */
static void test_example_of_the_rfc(void **state)
{
	static const uint8_t bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

	(void)state;
	assert_int_equal(checksum_finish(checksum_add(0, bytes, sizeof(bytes))), 0xffff ^ 0xddf2);
}

static void test_header_of_a_captured_packet(void **state)
{
	static const uint8_t header[] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0,
		0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};

	(void)state;
	assert_int_equal(checksum_finish(checksum_add(0, header, sizeof(header))), 0xb861);
}

static void test_odd_last_byte_counts_as_the_high_one(void **state)
{
	static const uint8_t odd[] = {0x12, 0x34, 0x56}, even[] = {0x12, 0x34, 0x56, 0x00};

	(void)state;
	assert_int_equal(checksum_finish(checksum_add(0, odd, 3)), checksum_finish(checksum_add(0, even, 4)));
	assert_int_equal(checksum_finish(checksum_add(0, odd, 3)), 0xffff ^ 0x6834);
	assert_int_equal(checksum_finish(checksum_add(0, odd, 0)), 0xffff);
}

static void test_pieces_sum_to_the_whole(void **state)
{
	uint8_t bytes[1501];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random();
	for (size_t cut = 0; cut < sizeof(bytes); cut += 2)
		assert_int_equal(
			checksum_finish(checksum_add(checksum_add(0, bytes, cut), bytes + cut, sizeof(bytes) - cut)),
			checksum_finish(checksum_add(0, bytes, sizeof(bytes))));
}

static void test_carries_fold_until_none_is_left(void **state)
{
	static uint8_t bytes[65536];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0xff;
	assert_int_equal(checksum_finish(checksum_add(0, bytes, sizeof(bytes))), 0);
	assert_int_equal(checksum_finish(0x1ffff), 0xffff ^ 1); /* folds to 10000, then to 1 */
	assert_int_equal(checksum_finish(0xffffffff), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example_of_the_rfc),
		cmocka_unit_test(test_header_of_a_captured_packet),
		cmocka_unit_test(test_odd_last_byte_counts_as_the_high_one),
		cmocka_unit_test(test_pieces_sum_to_the_whole),
		cmocka_unit_test(test_carries_fold_until_none_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
