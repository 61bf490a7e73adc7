/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector operations for lanes.c: loads by index, and interleaving. Each function also has a version in plain C. Only
 * lanes.c includes this file.
 */
#pragma once

#include "common/byteorder.h"
#include "common/siphash_lanes.h"

#define BLOCK 16 /* packets that a stage works on at a time */

/* A loop over a block, for the compiler to vectorise. gcc must not unroll it before it does so. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH(i) _Pragma("GCC unroll 1") for (uint32_t i = 0; i < BLOCK; i++)
#else
#define EACH(i) for (uint32_t i = 0; i < BLOCK; i++)
#endif

/*
 * Exchanges the low two bytes. With AVX2, gcc would recognise the shifts as __builtin_bswap16() and narrow the
 * surrounding lanes to 16 bits. Swapping all four bytes avoids this, and costs the same where the bytes of a vector can
 * be shuffled.
 */
INLINE uint32_t swap16(uint32_t value)
{
#ifdef __AVX2__
	return __builtin_bswap32(value) >> 16;
#else
	return (value << 8 & 0xff00) | (value >> 8 & 0xff);
#endif
}

/* Loads by index (gathers), because compilers do not find all of them. */

#if WIDE > 1
INLINE void gather_u64(const void *base, const uint32_t index[BLOCK], uint64_t out[BLOCK])
{
#if defined(__AVX512F__)
	for (int i = 0; i < BLOCK; i += 8)
		_mm512_storeu_si512(
			out + i, _mm512_i32gather_epi64(_mm256_loadu_si256((const __m256i *)(index + i)), base, 8));
#else
	for (int i = 0; i < BLOCK; i += 4)
		_mm256_storeu_si256((__m256i *)(out + i),
			_mm256_i32gather_epi64(base, _mm_loadu_si128((const __m128i *)(index + i)), 8));
#endif
}
#endif

INLINE void gather_u32(const void *base, const uint32_t index[BLOCK], uint32_t out[BLOCK])
{
#if defined(__AVX512F__)
	_mm512_storeu_si512(out, _mm512_i32gather_epi32(_mm512_loadu_si512(index), base, 4));
#elif defined(__AVX2__)
	for (int i = 0; i < BLOCK; i += 8)
		_mm256_storeu_si256((__m256i *)(out + i),
			_mm256_i32gather_epi32(base, _mm256_loadu_si256((const __m256i *)(index + i)), 4));
#else
	EACH (i)
		out[i] = ((const uint32_t *)base)[index[i]];
#endif
}

/* Reads two bytes more than each entry has, and leaves them in the high half of the result. */
INLINE void gather_u16(const void *base, const uint32_t index[BLOCK], uint32_t out[BLOCK])
{
#if defined(__AVX512F__)
	_mm512_storeu_si512(out, _mm512_i32gather_epi32(_mm512_loadu_si512(index), base, 2));
#elif defined(__AVX2__)
	for (int i = 0; i < BLOCK; i += 8)
		_mm256_storeu_si256((__m256i *)(out + i),
			_mm256_i32gather_epi32(base, _mm256_loadu_si256((const __m256i *)(index + i)), 2));
#else
	EACH (i)
		out[i] = ((const uint16_t *)base)[index[i]];
#endif
}

#if WIDE > 1
/* Loads 4 bytes from each offset, at any alignment. */
INLINE void gather_u32_at(const void *base, const uint32_t offset[BLOCK], uint32_t out[BLOCK])
{
#if defined(__AVX512F__)
	_mm512_storeu_si512(out, _mm512_i32gather_epi32(_mm512_loadu_si512(offset), base, 1));
#else
	for (int i = 0; i < BLOCK; i += 8)
		_mm256_storeu_si256((__m256i *)(out + i),
			_mm256_i32gather_epi32(base, _mm256_loadu_si256((const __m256i *)(offset + i)), 1));
#endif
}

/*
 * Loads four 64-bit words of each frame of a block, and transposes them: word w of frame i goes to out[w][i].
 */
INLINE void load_four_words(const uint8_t *const frames[BLOCK], uint32_t offset, uint64_t out[][BLOCK])
{
#if defined(__AVX512F__)
	for (int i = 0; i < BLOCK; i += 8) {
		__m512i pairs[4];

		/* Frames 0 and 2, 1 and 3, 4 and 6, 5 and 7, so that they come out in order */
		for (int p = 0; p < 4; p++) {
			const uint8_t *const *frame = frames + i + p / 2 * 4 + p % 2;
			__m256i one = _mm256_loadu_si256((const __m256i *)(frame[0] + offset));
			__m256i other = _mm256_loadu_si256((const __m256i *)(frame[2] + offset));

			pairs[p] = _mm512_inserti64x4(_mm512_castsi256_si512(one), other, 1);
		}
		__m512i even0 = _mm512_unpacklo_epi64(pairs[0], pairs[1]),
			even1 = _mm512_unpacklo_epi64(pairs[2], pairs[3]);
		__m512i odd0 = _mm512_unpackhi_epi64(pairs[0], pairs[1]),
			odd1 = _mm512_unpackhi_epi64(pairs[2], pairs[3]);

		_mm512_storeu_si512(&out[0][i], _mm512_shuffle_i64x2(even0, even1, 0x88));
		_mm512_storeu_si512(&out[1][i], _mm512_shuffle_i64x2(odd0, odd1, 0x88));
		_mm512_storeu_si512(&out[2][i], _mm512_shuffle_i64x2(even0, even1, 0xdd));
		_mm512_storeu_si512(&out[3][i], _mm512_shuffle_i64x2(odd0, odd1, 0xdd));
	}
#elif defined(__AVX2__)
	for (int i = 0; i < BLOCK; i += 4) {
		__m256i row[4];

		for (int r = 0; r < 4; r++)
			row[r] = _mm256_loadu_si256((const __m256i *)(frames[i + r] + offset));
		__m256i even0 = _mm256_unpacklo_epi64(row[0], row[1]), even1 = _mm256_unpacklo_epi64(row[2], row[3]);
		__m256i odd0 = _mm256_unpackhi_epi64(row[0], row[1]), odd1 = _mm256_unpackhi_epi64(row[2], row[3]);

		_mm256_storeu_si256((__m256i *)(&out[0][i]), _mm256_permute2x128_si256(even0, even1, 0x20));
		_mm256_storeu_si256((__m256i *)(&out[1][i]), _mm256_permute2x128_si256(odd0, odd1, 0x20));
		_mm256_storeu_si256((__m256i *)(&out[2][i]), _mm256_permute2x128_si256(even0, even1, 0x31));
		_mm256_storeu_si256((__m256i *)(&out[3][i]), _mm256_permute2x128_si256(odd0, odd1, 0x31));
	}
#endif
}

/* The same for two words of each frame. */
INLINE void load_two_words(const uint8_t *const frames[BLOCK], uint32_t offset, uint64_t out[][BLOCK])
{
#if defined(__AVX512F__)
	for (int i = 0; i < BLOCK; i += 8) {
		__m512i four[2];

		for (int f = 0; f < 2; f++) { /* frames 0, 2, 4, 6, and frames 1, 3, 5, 7 */
			const uint8_t *const *frame = frames + i + f;

			four[f] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(frame[0] + offset)));
			four[f] = _mm512_inserti64x2(four[f], _mm_loadu_si128((const __m128i *)(frame[2] + offset)), 1);
			four[f] = _mm512_inserti64x2(four[f], _mm_loadu_si128((const __m128i *)(frame[4] + offset)), 2);
			four[f] = _mm512_inserti64x2(four[f], _mm_loadu_si128((const __m128i *)(frame[6] + offset)), 3);
		}
		_mm512_storeu_si512(&out[0][i], _mm512_unpacklo_epi64(four[0], four[1]));
		_mm512_storeu_si512(&out[1][i], _mm512_unpackhi_epi64(four[0], four[1]));
	}
#else
	for (unsigned i = 0; i < BLOCK; i++)
		for (unsigned w = 0; w < 2; w++)
			out[w][i] = load_le64(frames[i] + offset + 8 * w);
#endif
}
#endif

#if WIDE > 1
/* Gives each packet its four values side by side: packet i finds its values in out[PATCH(i)]. */
#if defined(__AVX512F__)
#define PATCH(i) ((i) % 4 * 4 + (i) / 4)
#else
#define PATCH(i) (i)
#endif

INLINE void interleave(const uint32_t a[BLOCK], const uint32_t b[BLOCK], const uint32_t c[BLOCK],
	const uint32_t d[BLOCK], uint32_t out[BLOCK][4])
{
#if defined(__AVX512F__)
	__m512i va = _mm512_loadu_si512(a), vb = _mm512_loadu_si512(b);
	__m512i vc = _mm512_loadu_si512(c), vd = _mm512_loadu_si512(d);
	__m512i ab_low = _mm512_unpacklo_epi32(va, vb), ab_high = _mm512_unpackhi_epi32(va, vb);
	__m512i cd_low = _mm512_unpacklo_epi32(vc, vd), cd_high = _mm512_unpackhi_epi32(vc, vd);

	_mm512_storeu_si512(out[0], _mm512_unpacklo_epi64(ab_low, cd_low));
	_mm512_storeu_si512(out[4], _mm512_unpackhi_epi64(ab_low, cd_low));
	_mm512_storeu_si512(out[8], _mm512_unpacklo_epi64(ab_high, cd_high));
	_mm512_storeu_si512(out[12], _mm512_unpackhi_epi64(ab_high, cd_high));
#else
	EACH (i) {
		out[i][0] = a[i];
		out[i][1] = b[i];
		out[i][2] = c[i];
		out[i][3] = d[i];
	}
#endif
}

#endif
