/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "quic/quic_codec.h"
#include "tests/unit/guarded.h"
#include "tests/unit/random.h"
#include "tests/unit/vectors.h"

/* The forms of quic_decode_many() that this CPU can run. */
static quic_decode_function *forms[2] = {quic_decode_plain};
static int form_count = 1;

static struct quic_codec *create(const struct quic_config *config)
{
	struct quic_codec *codec;

	assert_null(quic_config_fault(config));
	codec = quic_codec_create(config);
	assert_non_null(codec);
	return codec;
}

static struct quic_config random_config(uint8_t server_id_length, uint8_t nonce_length, bool keyed)
{
	struct quic_config config = {(uint8_t)random_below(QUIC_MAX_CONFIGS), server_id_length, nonce_length, keyed, {0}};

	if (keyed)
		random_fill(config.key, sizeof(config.key));
	return config;
}

#define EACH_SHAPE                                                                                     \
	for (uint8_t server_id = 1; server_id <= QUIC_MAX_SERVER_ID; server_id++)                      \
		for (uint8_t nonce = QUIC_MIN_NONCE; nonce <= QUIC_MAX_PLAINTEXT - server_id; nonce++) \
			for (int keyed = 0; keyed < 2; keyed++)

/* Every form decodes these CIDs as quic_decode() does, and touches nothing beyond the last slot. */
static void assert_forms_agree(const struct quic_codec *codec, uint32_t count)
{
	uint8_t(*slots)[QUIC_SLOT] = (void *)(guarded_end() - count * QUIC_SLOT), all[QUIC_MAX_DECODE][QUIC_SLOT];
	uint8_t expected[QUIC_MAX_DECODE][16] = {0};

	random_fill(all, sizeof(all));
	for (uint32_t i = 0; i < count; i++)
		quic_decode(codec, all[i], expected[i], NULL);
	for (int form = 0; form < form_count; form++) {
		memcpy(slots, all, count * QUIC_SLOT);
		forms[form](codec, slots, count);
		for (uint32_t i = 0; i < count; i++)
			assert_memory_equal(slots[i], expected[i], 16);
		memcpy(guarded_begin(), all, sizeof(all));
		forms[form](codec, (void *)guarded_begin(), count);
		assert_memory_equal(guarded_begin() + count * QUIC_SLOT, all[count], sizeof(all) - count * QUIC_SLOT);
	}
}

static void test_golden_cids(void **state)
{
	json_t *document = vectors_load("quic.json"), *item;
	size_t index;

	(void)state;
	assert_true(json_array_size(vectors_get(document, "cids")) > 240);
	json_array_foreach(vectors_get(document, "cids"), index, item)
	{
		uint8_t server_id[QUIC_MAX_SERVER_ID], nonce[QUIC_MAX_NONCE], cid[QUIC_MAX_CID], made[QUIC_MAX_CID];
		uint8_t found_id[QUIC_MAX_SERVER_ID], found_nonce[QUIC_MAX_NONCE], slots[1][QUIC_SLOT];
		const char *key = json_string_value(vectors_get(item, "key"));
		struct quic_config config = {.id = (uint8_t)vectors_number(item, "id"), .keyed = key};
		struct quic_codec *codec;
		uint32_t size = vectors_hex(vectors_string(item, "cid"), cid, sizeof(cid));

		config.server_id_length =
			(uint8_t)vectors_hex(vectors_string(item, "server_id"), server_id, sizeof(server_id));
		config.nonce_length = (uint8_t)vectors_hex(vectors_string(item, "nonce"), nonce, sizeof(nonce));
		if (key)
			assert_int_equal(vectors_hex(key, config.key, QUIC_KEY_SIZE), QUIC_KEY_SIZE);
		assert_int_equal(size, quic_cid_size(&config));
		assert_int_equal(quic_config_id(cid[0]), config.id);
		codec = create(&config);
		quic_encode(codec, cid[0], server_id, nonce, made);
		assert_memory_equal(made, cid, size);
		quic_decode(codec, cid, found_id, found_nonce);
		assert_memory_equal(found_id, server_id, config.server_id_length);
		assert_memory_equal(found_nonce, nonce, config.nonce_length);
		for (int form = 0; form < form_count; form++) {
			memset(slots, 0xee, sizeof(slots));
			memcpy(slots[0], cid, size);
			forms[form](codec, slots, 1);
			assert_memory_equal(slots[0], server_id, config.server_id_length);
		}
		quic_codec_free(codec);
	}
	json_decref(document);
}

static void test_golden_headers(void **state)
{
	json_t *document = vectors_load("quic.json"), *item;
	size_t index;

	(void)state;
	json_array_foreach(vectors_get(document, "headers"), index, item)
	{
		uint8_t bytes[2048], expected[2048], *payload;
		uint32_t size = vectors_hex(vectors_string(item, "payload"), bytes, sizeof(bytes)), cid_size;
		struct quic_dcid cid;
		bool found;

		payload = guarded_copy(bytes, size);
		found = quic_find_dcid(payload, size, &cid);
		assert_int_equal(found, json_is_string(vectors_get(item, "dcid")));
		if (found) {
			cid_size = vectors_hex(vectors_string(item, "dcid"), expected, sizeof(expected));
			assert_int_equal(cid.size, cid_size);
			assert_memory_equal(cid.bytes, expected, cid_size);
			assert_int_equal(cid.long_header, json_is_true(vectors_get(item, "long_header")));
		}
		found = quic_find_quoted_scid(payload, size, &cid);
		assert_int_equal(found, json_is_string(vectors_get(item, "scid")));
		if (found) {
			cid_size = vectors_hex(vectors_string(item, "scid"), expected, sizeof(expected));
			assert_int_equal(cid.size, cid_size);
			assert_memory_equal(cid.bytes, expected, cid_size);
			assert_true(cid.long_header);
		}
	}
	json_decref(document);
}

/* The headers are at the end of memory, so a read beyond a datagram of any size is a fault. */
static void test_random_headers_stay_inside(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		uint32_t size = random_below(round % 2 ? 40 : 530);
		uint8_t *payload = guarded_end() - size;
		struct quic_dcid cid;

		random_fill(payload, size);
		if (size > 5 && round % 3) {
			payload[0] |= 0x80;
			payload[5] = (uint8_t)random_below(size);
		}
		if (quic_find_dcid(payload, size, &cid)) {
			assert_true(cid.size > 0 && cid.bytes > payload && cid.bytes + cid.size <= payload + size);
			assert_int_equal(cid.long_header, payload[0] >> 7);
		}
		if (quic_find_quoted_scid(payload, size, &cid))
			assert_true(cid.size > 0 && cid.bytes > payload + 6 && cid.bytes + cid.size <= payload + size);
	}
}

static void test_faults_of_configurations(void **state)
{
	static const struct quic_config wrong[] = {
		{7, 3, 8, false, {0}},
		{255, 3, 8, false, {0}},
		{0, 0, 8, false, {0}},
		{0, 16, 4, false, {0}},
		{0, 255, 4, false, {0}},
		{0, 3, 3, true, {0}},
		{0, 3, 0, true, {0}},
		{0, 1, 19, true, {0}},
		{0, 1, 255, true, {0}},
		{0, 15, 5, true, {0}},
		{0, 2, 18, true, {0}},
		{0, 10, 10, true, {0}},
	};
	static const struct quic_config right[] = {
		{6, 15, 4, true, {0}}, {0, 1, 18, false, {0}}, {3, 1, 4, true, {0}}, {3, 8, 8, true, {0}}};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(quic_config_fault(&wrong[i]));
	assert_non_null(strstr(quic_config_fault(&wrong[7]), "nonce_length must be 4 to 18"));
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		assert_null(quic_config_fault(&right[i]));
}

static void test_every_shape_decodes_what_it_encoded(void **state)
{
	(void)state;
	EACH_SHAPE
	{
		struct quic_config config = random_config(server_id, nonce, keyed);
		struct quic_codec *codec = create(&config);

		for (int round = 0; round < 20; round++) {
			uint8_t text[QUIC_MAX_PLAINTEXT], found_id[QUIC_MAX_SERVER_ID], found_nonce[QUIC_MAX_NONCE];
			uint8_t *cid = guarded_end() - quic_cid_size(&config);

			random_fill(text, sizeof(text));
			quic_encode(codec, 0xff, text, text + server_id, cid);
			assert_int_equal(cid[0], config.id << 5 | 0x1f);
			quic_decode(codec, cid, found_id, found_nonce);
			assert_memory_equal(found_id, text, server_id);
			assert_memory_equal(found_nonce, text + server_id, nonce);
			memset(found_id, 0, sizeof(found_id));
			quic_decode(codec, cid, found_id, NULL);
			assert_memory_equal(found_id, text, server_id);
		}
		quic_codec_free(codec);
	}
}

static void test_all_forms_agree(void **state)
{
	(void)state;
	EACH_SHAPE
	{
		struct quic_config config = random_config(server_id, nonce, keyed);
		struct quic_codec *codec = create(&config);

		assert_forms_agree(codec, 1 + random_below(QUIC_MAX_DECODE));
		quic_codec_free(codec);
	}
}

static void test_all_counts_agree(void **state)
{
	static const uint8_t shapes[][2] = {{3, 8}, {5, 5}, {8, 8}, {15, 4}};

	(void)state;
	for (size_t shape = 0; shape < 4; shape++) {
		for (uint32_t count = 0; count < QUIC_MAX_DECODE; count++) {
			struct quic_config config = random_config(shapes[shape][0], shapes[shape][1], count % 4 > 0);
			struct quic_codec *codec = create(&config);

			assert_forms_agree(codec, count);
			quic_codec_free(codec);
		}
	}
}

static struct quic_codec *watched, found_at_free;

void __real_free(void *memory);
void __wrap_free(void *memory);

void __wrap_free(void *memory)
{
	if (memory && memory == watched)
		memcpy(&found_at_free, memory, sizeof(found_at_free));
	__real_free(memory);
}

static void test_free_overwrites_the_key(void **state)
{
	static const struct quic_codec zeros;
	struct quic_config config = random_config(3, 8, true);

	(void)state;
	watched = create(&config);
	memset(&found_at_free, 0xff, sizeof(found_at_free));
	quic_codec_free(watched);
	assert_memory_equal(&found_at_free, &zeros, sizeof(zeros));
	watched = NULL;
	quic_codec_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_cids),
		cmocka_unit_test(test_golden_headers),
		cmocka_unit_test(test_random_headers_stay_inside),
		cmocka_unit_test(test_faults_of_configurations),
		cmocka_unit_test(test_every_shape_decodes_what_it_encoded),
		cmocka_unit_test(test_all_forms_agree),
		cmocka_unit_test(test_all_counts_agree),
		cmocka_unit_test(test_free_overwrites_the_key),
	};

	if (quic_fastest_decode() != quic_decode_plain)
		forms[form_count++] = quic_fastest_decode();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
