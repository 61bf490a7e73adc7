/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes several CIDs at once with the AES instructions of x86. It is compiled twice, see meson.build: a register has
 * one CID with AES-NI, and four with VAES. A round of AES waits for the one before it, so each round is done for all
 * registers before the next one.
 */
#include <immintrin.h>

#include "quic/quic_codec.h"

#define INLINE static inline __attribute__((always_inline))

#ifdef __VAES__

#define NAME(function) function##_vaes
#define REGISTERS      4
#define LANES          4
#define XOR            _mm512_xor_si512
#define AND            _mm512_and_si512
#define OR             _mm512_or_si512
#define SHUFFLE        _mm512_shuffle_epi8
#define ENCRYPT        _mm512_aesenc_epi128
#define ENCRYPT_LAST   _mm512_aesenclast_epi128
#define DECRYPT        _mm512_aesdec_epi128
#define DECRYPT_LAST   _mm512_aesdeclast_epi128
typedef __m512i reg;

INLINE reg from_block(const uint8_t block[16])
{
	return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)block));
}

/* Slots beyond the last one are neither read nor written. */
INLINE __mmask8 two_slots(uint32_t left, __mmask8 of_one)
{
	return left >= 2 ? (__mmask8)(of_one | of_one << 4) : left == 1 ? of_one : 0;
}

/* The 16 bytes from `at` on of four slots. `left`: how many slots there are. */
INLINE reg load(uint8_t (*slots)[QUIC_SLOT], uint32_t left, uint8_t at)
{
	reg first = _mm512_maskz_loadu_epi64(two_slots(left, 0x0f), slots);
	reg second = _mm512_maskz_loadu_epi64(two_slots(left > 2 ? left - 2 : 0, 0x0f), slots + 2);
	reg slot_starts = _mm512_set_epi64(0x6060606060606060, 0x6060606060606060, 0x4040404040404040,
		0x4040404040404040, 0x2020202020202020, 0x2020202020202020, 0, 0);
	reg places = _mm512_add_epi8(
		_mm512_broadcast_i32x4(_mm_set_epi64x(0x0f0e0d0c0b0a0908, 0x0706050403020100)), slot_starts);

	return _mm512_permutex2var_epi8(first, _mm512_add_epi8(places, _mm512_set1_epi8((char)at)), second);
}

INLINE void store(uint8_t (*slots)[QUIC_SLOT], uint32_t left, reg values)
{
	_mm512_mask_storeu_epi64(slots, two_slots(left, 0x03),
		_mm512_permutexvar_epi64(_mm512_set_epi64(0, 0, 3, 2, 0, 0, 1, 0), values));
	_mm512_mask_storeu_epi64(slots + 2, two_slots(left > 2 ? left - 2 : 0, 0x03),
		_mm512_permutexvar_epi64(_mm512_set_epi64(0, 0, 7, 6, 0, 0, 5, 4), values));
}

#else

#define NAME(function) function##_aesni
#define REGISTERS      8
#define LANES          1
#define XOR            _mm_xor_si128
#define AND            _mm_and_si128
#define OR             _mm_or_si128
#define SHUFFLE        _mm_shuffle_epi8
#define ENCRYPT        _mm_aesenc_si128
#define ENCRYPT_LAST   _mm_aesenclast_si128
#define DECRYPT        _mm_aesdec_si128
#define DECRYPT_LAST   _mm_aesdeclast_si128
typedef __m128i reg;

INLINE reg from_block(const uint8_t block[16])
{
	return _mm_loadu_si128((const __m128i *)block);
}

INLINE reg load(uint8_t (*slots)[QUIC_SLOT], uint32_t left, uint8_t at)
{
	return left ? _mm_loadu_si128((const __m128i *)(slots[0] + at)) : _mm_setzero_si128();
}

INLINE void store(uint8_t (*slots)[QUIC_SLOT], uint32_t left, reg values)
{
	if (left)
		_mm_storeu_si128((__m128i *)slots[0], values);
}

/* The next round key, by FIPS 197, section 5.2. `assist`: what AESKEYGENASSIST makes of the key. */
INLINE reg next_key(reg key, reg assist)
{
	key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
	key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
	return _mm_xor_si128(key, _mm_shuffle_epi32(assist, 0xff));
}

void quic_expand_keys(struct quic_codec *codec)
{
	reg keys[QUIC_ROUND_KEYS];

	keys[0] = from_block(codec->config.key);
#define NEXT(index, constant) \
	keys[index] = next_key(keys[index - 1], _mm_aeskeygenassist_si128(keys[index - 1], constant))
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

		_mm_storeu_si128((reg *)codec->first_keys[i], _mm_xor_si128(keys[0], from_block(about)));
	}
	for (int i = 0; i < QUIC_ROUND_KEYS; i++) {
		bool inner = i > 0 && i < QUIC_ROUND_KEYS - 1;
		reg key = codec->passes != QUIC_SINGLE_PASS ? keys[i] : keys[QUIC_ROUND_KEYS - 1 - i];

		if (codec->passes == QUIC_SINGLE_PASS && inner)
			key = _mm_aesimc_si128(key);
		_mm_storeu_si128((reg *)codec->round_keys[i], key);
	}
}

#endif

#define EACH_REGISTER _Pragma("GCC unroll 8") for (uint32_t r = 0; r < REGISTERS; r++)

/* A round of the Feistel network: changes one half by the other. */
INLINE void feistel(const struct quic_codec *codec, int pass, const reg from[REGISTERS], reg to[REGISTERS])
{
	reg state[REGISTERS], key = from_block(codec->first_keys[pass - 1]);
	reg mask = from_block(pass % 2 ? codec->right_mask : codec->left_mask);

	EACH_REGISTER state[r] = XOR(from[r], key);
	_Pragma("GCC unroll 9") for (int round = 1; round < QUIC_ROUND_KEYS - 1; round++)
	{
		key = from_block(codec->round_keys[round]);
		EACH_REGISTER state[r] = ENCRYPT(state[r], key);
	}
	key = from_block(codec->round_keys[QUIC_ROUND_KEYS - 1]);
	/* The last step of AES adds its key, and the Feistel network adds `to`: both at once is faster. */
	EACH_REGISTER to[r] = AND(ENCRYPT_LAST(state[r], XOR(key, to[r])), mask);
}

INLINE void decrypt_block(const struct quic_codec *codec, reg state[REGISTERS])
{
	reg key = from_block(codec->round_keys[0]);

	EACH_REGISTER state[r] = XOR(state[r], key);
	_Pragma("GCC unroll 9") for (int round = 1; round < QUIC_ROUND_KEYS - 1; round++)
	{
		key = from_block(codec->round_keys[round]);
		EACH_REGISTER state[r] = DECRYPT(state[r], key);
	}
	key = from_block(codec->round_keys[QUIC_ROUND_KEYS - 1]);
	EACH_REGISTER state[r] = DECRYPT_LAST(state[r], key);
}

/* Decodes REGISTERS * LANES CIDs, or `left` if that is less. */
INLINE void decode_some(
	const struct quic_codec *codec, enum quic_passes passes, uint8_t (*slots)[QUIC_SLOT], uint32_t left)
{
	uint8_t right_at = (uint8_t)(1 + codec->plaintext_length / 2);
	reg first[REGISTERS], second[REGISTERS];
	reg left_mask = from_block(codec->left_mask), right_mask = from_block(codec->right_mask);
	reg server_id_mask = from_block(codec->server_id_mask), right_place = from_block(codec->right_place);

#define LEFT (left > r * LANES ? left - r * LANES : 0)
	EACH_REGISTER first[r] = load(slots + r * LANES, LEFT, 1);
	if (passes == QUIC_SINGLE_PASS)
		decrypt_block(codec, first);
	if (passes >= QUIC_THREE_PASSES) {
		EACH_REGISTER second[r] = AND(load(slots + r * LANES, LEFT, right_at), right_mask);
		EACH_REGISTER first[r] = AND(first[r], left_mask);
		feistel(codec, 4, second, first);
		feistel(codec, 3, first, second);
		feistel(codec, 2, second, first);
	}
	if (passes == QUIC_FOUR_PASSES) {
		feistel(codec, 1, first, second);
		EACH_REGISTER first[r] = OR(first[r], SHUFFLE(second[r], right_place));
	}
	EACH_REGISTER store(slots + r * LANES, LEFT, AND(first[r], server_id_mask));
#undef LEFT
}

INLINE void decode_all(
	const struct quic_codec *codec, enum quic_passes passes, uint8_t (*slots)[QUIC_SLOT], uint32_t count)
{
	for (uint32_t i = 0; i < count; i += REGISTERS * LANES)
		decode_some(codec, passes, slots + i, count - i);
}

void NAME(quic_decode)(const struct quic_codec *codec, uint8_t (*slots)[QUIC_SLOT], uint32_t count)
{
	switch (codec->passes) {
	case QUIC_UNKEYED:
		decode_all(codec, QUIC_UNKEYED, slots, count);
		break;
	case QUIC_SINGLE_PASS:
		decode_all(codec, QUIC_SINGLE_PASS, slots, count);
		break;
	case QUIC_THREE_PASSES:
		decode_all(codec, QUIC_THREE_PASSES, slots, count);
		break;
	case QUIC_FOUR_PASSES:
		decode_all(codec, QUIC_FOUR_PASSES, slots, count);
		break;
	}
}
