/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector operations for lanes.c: loads by index, and interleaving. Each function also has a version in plain C. Only
 * lanes.c includes this file.
 */
#ifndef GLB_PACKET_LANES_LANES_VECTOR_H
#define GLB_PACKET_LANES_LANES_VECTOR_H

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

INLINE void gather_u64(const void *base, const uint32_t index[BLOCK], uint64_t out[BLOCK])
{
#if defined(__AVX512F__)
	for (int i = 0; i < BLOCK; i += 8)
		_mm512_storeu_si512(
			out + i, _mm512_i32gather_epi64(_mm256_loadu_si256((const __m256i *)(index + i)), base, 8));
#elif defined(__AVX2__)
	for (int i = 0; i < BLOCK; i += 4)
		_mm256_storeu_si256((__m256i *)(out + i),
			_mm256_i32gather_epi64(base, _mm_loadu_si128((const __m128i *)(index + i)), 8));
#else
	EACH (i)
		out[i] = ((const uint64_t *)base)[index[i]];
#endif
}

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
