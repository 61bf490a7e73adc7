/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "quic/quic_codec.h"

static enum quic_passes passes_of(const struct quic_config *config)
{
	uint32_t length = quic_cid_size(config) - 1;

	if (!config->keyed)
		return QUIC_UNKEYED;
	if (length == 16)
		return QUIC_SINGLE_PASS;
	return config->server_id_length <= length / 2 ? QUIC_THREE_PASSES : QUIC_FOUR_PASSES;
}

static void fill_masks(struct quic_codec *codec)
{
	uint8_t odd = codec->plaintext_length % 2, right_at = codec->plaintext_length / 2;

	memset(codec->left_mask, 0xff, codec->half_length);
	memset(codec->right_mask, 0xff, codec->half_length);
	if (odd) {
		codec->left_mask[codec->half_length - 1] = 0xf0;
		codec->right_mask[0] = 0x0f;
	}
	memset(codec->server_id_mask, 0xff, codec->config.server_id_length);
	for (uint8_t i = 0; i < 16; i++)
		codec->right_place[i] = i < right_at ? 0x80 : (uint8_t)(i - right_at);
}

struct quic_codec *quic_codec_create(const struct quic_config *config)
{
	struct quic_codec *codec = calloc(1, sizeof(*codec));

	if (!codec)
		return NULL;
	codec->config = *config;
	codec->plaintext_length = (uint8_t)(quic_cid_size(config) - 1);
	codec->half_length = (uint8_t)((codec->plaintext_length + 1) / 2);
	codec->passes = passes_of(config);
	fill_masks(codec);
	aes128_set_encrypt_key(&codec->encrypt, config->key);
	aes128_invert_key(&codec->decrypt, &codec->encrypt);
	codec->decode_many = quic_fastest_decode();
#ifdef __x86_64__
	if (codec->decode_many == quic_decode_aesni)
		quic_expand_keys(codec);
#endif
	return codec;
}

void quic_codec_free(struct quic_codec *codec)
{
	if (codec)
		explicit_bzero(codec, sizeof(*codec));
	free(codec);
}

/* A round of the Feistel network: changes one half by the other, in every second pass the right one. */
static void feistel(const struct quic_codec *codec, uint8_t pass, const uint8_t from[16], uint8_t to[16])
{
	const uint8_t *mask = pass % 2 ? codec->right_mask : codec->left_mask;
	uint8_t block[16];

	memcpy(block, from, 16);
	block[14] = codec->plaintext_length;
	block[15] = pass;
	aes128_encrypt(&codec->encrypt, 16, block, block);
	for (int i = 0; i < 16; i++)
		to[i] = (to[i] ^ block[i]) & mask[i];
}

static void split(const struct quic_codec *codec, const uint8_t *text, uint8_t left[16], uint8_t right[16])
{
	const uint8_t *end = text + codec->plaintext_length;

	for (int i = 0; i < 16; i++) {
		left[i] = i < codec->half_length ? text[i] & codec->left_mask[i] : 0;
		right[i] = i < codec->half_length ? end[i - codec->half_length] & codec->right_mask[i] : 0;
	}
}

static void join(const struct quic_codec *codec, const uint8_t left[16], const uint8_t right[16], uint8_t *text)
{
	uint8_t *end = text + codec->plaintext_length;

	memcpy(text, left, codec->half_length);
	if (codec->plaintext_length % 2)
		text[codec->half_length - 1] |= right[0];
	else
		end[-codec->half_length] = right[0];
	memcpy(end - codec->half_length + 1, right + 1, codec->half_length - 1u);
}

void quic_encode(
	const struct quic_codec *codec, uint8_t low_bits, const uint8_t *server_id, const uint8_t *nonce, uint8_t *cid)
{
	uint8_t left[16], right[16];

	*cid++ = (uint8_t)(codec->config.id << 5 | (low_bits & 0x1f));
	memcpy(cid, server_id, codec->config.server_id_length);
	memcpy(cid + codec->config.server_id_length, nonce, codec->config.nonce_length);
	if (codec->passes == QUIC_SINGLE_PASS)
		aes128_encrypt(&codec->encrypt, 16, cid, cid);
	if (codec->passes < QUIC_THREE_PASSES)
		return;
	split(codec, cid, left, right);
	feistel(codec, 1, left, right);
	feistel(codec, 2, right, left);
	feistel(codec, 3, left, right);
	feistel(codec, 4, right, left);
	join(codec, left, right, cid);
}

void quic_decode(const struct quic_codec *codec, const uint8_t *cid, uint8_t *server_id, uint8_t *nonce)
{
	uint8_t left[16], right[16], text[QUIC_MAX_PLAINTEXT];

	memcpy(text, cid + 1, codec->plaintext_length);
	if (codec->passes == QUIC_SINGLE_PASS)
		aes128_decrypt(&codec->decrypt, 16, text, text);
	if (codec->passes >= QUIC_THREE_PASSES) {
		split(codec, text, left, right);
		feistel(codec, 4, right, left);
		feistel(codec, 3, left, right);
		feistel(codec, 2, right, left);
		if (nonce || codec->passes == QUIC_FOUR_PASSES)
			feistel(codec, 1, left, right);
		join(codec, left, right, text);
	}
	memcpy(server_id, text, codec->config.server_id_length);
	if (nonce)
		memcpy(nonce, text + codec->config.server_id_length, codec->config.nonce_length);
}

void quic_decode_plain(const struct quic_codec *codec, uint8_t (*slots)[QUIC_SLOT], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint8_t server_id[16] = {0};

		quic_decode(codec, slots[i], server_id, NULL);
		memcpy(slots[i], server_id, sizeof(server_id));
	}
}

void quic_decode_many(const struct quic_codec *codec, uint8_t (*slots)[QUIC_SLOT], uint32_t count)
{
	codec->decode_many(codec, slots, count);
}

quic_decode_function *quic_fastest_decode(void)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1"))
		return quic_decode_aesni;
#endif
	return quic_decode_plain;
}
