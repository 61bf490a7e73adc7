/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "common/siphash.h"

static size_t from_hex(const char *hex, uint8_t *out, size_t max)
{
	size_t size = 0;

	for (; hex[2 * size]; size++) {
		assert_true(size < max);
		assert_int_equal(sscanf(hex + 2 * size, "%2hhx", &out[size]), 1);
	}
	return size;
}

/* The example of the paper: docs/reference/table-rows.md#siphash. */
static void test_example_of_the_paper(void **state)
{
	static const uint8_t expected[8] = {0xe5, 0x45, 0xbe, 0x49, 0x61, 0xca, 0x29, 0xa1};
	uint8_t bytes[16];
	uint64_t digest;

	(void)state;
	for (uint8_t i = 0; i < 16; i++)
		bytes[i] = i;
	digest = siphash(bytes, bytes, 15);
	assert_memory_equal(&digest, expected, sizeof(expected));
}

static void test_golden_vectors(void **state)
{
	json_error_t error;
	json_t *root = json_load_file(VECTORS_DIR "/siphash.json", 0, &error), *item;
	size_t index;

	(void)state;
	assert_non_null(root);
	assert_true(json_array_size(root) >= 64);
	json_array_foreach(root, index, item)
	{
		uint8_t key[SIPHASH_KEY_SIZE], message[4096], expected[8];
		uint64_t digest;
		size_t size;

		from_hex(json_string_value(json_object_get(item, "key")), key, sizeof(key));
		size = from_hex(json_string_value(json_object_get(item, "message")), message, sizeof(message));
		from_hex(json_string_value(json_object_get(item, "digest")), expected, sizeof(expected));
		digest = siphash(key, message, size);
		assert_memory_equal(&digest, expected, sizeof(expected));
	}
	json_decref(root);
}

static void test_pieces_equal_the_whole(void **state)
{
	uint8_t bytes[64];

	(void)state;
	for (uint8_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	for (size_t size = 0; size <= sizeof(bytes); size++) {
		for (size_t cut = 0; cut <= size; cut += 8) {
			struct siphash_state sip;

			siphash_begin(&sip, bytes);
			siphash_update(&sip, bytes, cut);
			assert_int_equal(siphash_end(&sip, bytes + cut, size - cut), siphash(bytes, bytes, size));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example_of_the_paper),
		cmocka_unit_test(test_golden_vectors),
		cmocka_unit_test(test_pieces_equal_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
