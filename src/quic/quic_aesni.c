/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes 8 CIDs at once with AES-NI and SSE4.1. A round of AES waits for the one before it, 8 CIDs fill the wait. */
#include <immintrin.h>

#include "quic/quic_codec.h"

#define BATCH      8
#define LAST_ROUND (QUIC_ROUND_KEYS - 1)
#define INLINE     static inline __attribute__((always_inline))
#define EACH       _Pragma("GCC unroll 8") for (uint32_t i = 0; i < BATCH; i++)

INLINE __m128i from_block(const uint8_t block[16])
{
	return _mm_loadu_si128((const __m128i *)block);
}

/* The next round key, by FIPS 197, section 5.2. `assist`: what AESKEYGENASSIST makes of the key. */
INLINE __m128i next_key(__m128i key, __m128i assist)
{
	key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
	key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
	return _mm_xor_si128(key, _mm_shuffle_epi32(assist, 0xff));
}

void quic_expand_keys(struct quic_codec *codec)
{
	__m128i keys[QUIC_ROUND_KEYS];

	keys[0] = from_block(codec->config.key);
#define NEXT(i, constant) keys[i] = next_key(keys[i - 1], _mm_aeskeygenassist_si128(keys[i - 1], constant))
	NEXT(1, 0x01);
	NEXT(2, 0x02);
	NEXT(3, 0x04);
	NEXT(4, 0x08);
	NEXT(5, 0x10);
	NEXT(6, 0x20);
	NEXT(7, 0x40);
	NEXT(8, 0x80);
	NEXT(9, 0x1b);
	NEXT(10, 0x36);
#undef NEXT
	for (int i = 0; i < 4; i++) {
		uint8_t about[16] = {[14] = codec->plaintext_length, [15] = (uint8_t)(i + 1)};

		_mm_storeu_si128((__m128i *)codec->first_keys[i], _mm_xor_si128(keys[0], from_block(about)));
	}
	for (int i = 0; i < QUIC_ROUND_KEYS; i++) {
		__m128i key = keys[i];

		if (codec->passes == QUIC_SINGLE_PASS)
			key = i % LAST_ROUND ? _mm_aesimc_si128(keys[LAST_ROUND - i]) : keys[LAST_ROUND - i];
		_mm_storeu_si128((__m128i *)codec->round_keys[i], key);
	}
}

/* Keeps the compiler from finishing one CID before it begins the next one, to have all keys in registers. */
INLINE void together(__m128i state[BATCH])
{
	for (int i = 0; i < BATCH; i += 4)
		__asm__ volatile("" : "+x"(state[i]), "+x"(state[i + 1]), "+x"(state[i + 2]), "+x"(state[i + 3]));
}

/* A round of the Feistel network: changes one half by the other. */
INLINE void feistel(const struct quic_codec *codec, int pass, const __m128i from[BATCH], __m128i to[BATCH])
{
	__m128i state[BATCH], key = from_block(codec->first_keys[pass - 1]);
	__m128i mask = from_block(pass % 2 ? codec->right_mask : codec->left_mask);

	EACH
		state[i] = _mm_xor_si128(from[i], key);
	_Pragma("GCC unroll 9") for (int round = 1; round < LAST_ROUND; round++)
	{
		key = from_block(codec->round_keys[round]);
		EACH
			state[i] = _mm_aesenc_si128(state[i], key);
		together(state);
	}
	key = from_block(codec->round_keys[LAST_ROUND]);
	/* The last step of AES adds its key, and the Feistel network adds `to`: both at once is faster. */
	EACH
		to[i] = _mm_and_si128(_mm_aesenclast_si128(state[i], _mm_xor_si128(key, to[i])), mask);
}

INLINE void decrypt(const struct quic_codec *codec, __m128i state[BATCH])
{
	__m128i key = from_block(codec->round_keys[0]);

	EACH
		state[i] = _mm_xor_si128(state[i], key);
	_Pragma("GCC unroll 9") for (int round = 1; round < LAST_ROUND; round++)
	{
		key = from_block(codec->round_keys[round]);
		EACH
			state[i] = _mm_aesdec_si128(state[i], key);
		together(state);
	}
	key = from_block(codec->round_keys[LAST_ROUND]);
	EACH
		state[i] = _mm_aesdeclast_si128(state[i], key);
}

/* Decodes `count` CIDs, at most BATCH. */
INLINE void decode_batch(
	const struct quic_codec *codec, enum quic_passes passes, uint8_t (*slots)[QUIC_SLOT], uint32_t count)
{
	uint32_t right_at = 1u + codec->plaintext_length / 2;
	__m128i left[BATCH], right[BATCH], server_id_mask = from_block(codec->server_id_mask);

#define SLOT(i) slots[i < count ? i : 0]
	EACH
		left[i] = from_block(SLOT(i) + 1);
	if (passes == QUIC_SINGLE_PASS)
		decrypt(codec, left);
	if (passes >= QUIC_THREE_PASSES) {
		EACH
			right[i] = _mm_and_si128(from_block(SLOT(i) + right_at), from_block(codec->right_mask));
		EACH
			left[i] = _mm_and_si128(left[i], from_block(codec->left_mask));
		feistel(codec, 4, right, left);
		feistel(codec, 3, left, right);
		feistel(codec, 2, right, left);
	}
	if (passes == QUIC_FOUR_PASSES) {
		feistel(codec, 1, left, right);
		EACH
			left[i] = _mm_or_si128(left[i], _mm_shuffle_epi8(right[i], from_block(codec->right_place)));
	}
	EACH
		if (i < count)
			_mm_storeu_si128((__m128i *)slots[i], _mm_and_si128(left[i], server_id_mask));
#undef SLOT
}

void quic_decode_aesni(const struct quic_codec *codec, uint8_t (*slots)[QUIC_SLOT], uint32_t count)
{
	for (uint32_t at = 0; at < count; at += BATCH) {
		uint32_t some = count - at < BATCH ? count - at : BATCH;

		if (codec->passes == QUIC_THREE_PASSES)
			decode_batch(codec, QUIC_THREE_PASSES, slots + at, some);
		else if (codec->passes == QUIC_FOUR_PASSES)
			decode_batch(codec, QUIC_FOUR_PASSES, slots + at, some);
		else if (codec->passes == QUIC_SINGLE_PASS)
			decode_batch(codec, QUIC_SINGLE_PASS, slots + at, some);
		else
			decode_batch(codec, QUIC_UNKEYED, slots + at, some);
	}
}
