/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SipHash-2-4 of several messages side by side in plain C: some are in integer registers, and the others are in pairs
 * in the vectors that every x86-64 CPU has. The CPU works on both at once, and each kind alone would wait for its
 * execution units. Other architectures use integer registers only. Pure.
 */
#pragma once

#include "common/siphash_lanes.h"

#if WIDE != 1
#error "only for plain C"
#endif

#define MIXED_SINGLES 4
#ifdef __SSE2__
#include <emmintrin.h>
#define MIXED_PAIRS 2
#else
#define MIXED_PAIRS 0
#endif
#define MIXED_LANES (MIXED_SINGLES + 2 * MIXED_PAIRS)

typedef uint64_t uint64_pair __attribute__((vector_size(16)));

struct siphash_pair {
	uint64_pair v0, v1, v2, v3;
};

/* The first messages are the singles. */
struct siphash_mixed {
	struct siphash_lanes singles[MIXED_SINGLES];
	struct siphash_pair pairs[MIXED_PAIRS];
};

INLINE uint64_pair rotate_pair(uint64_pair value, int by)
{
#ifdef __SSE2__
	if (by == 32)
		return (uint64_pair)_mm_shuffle_epi32((__m128i)value, _MM_SHUFFLE(2, 3, 0, 1));
	if (by == 16)
		return (uint64_pair)_mm_shufflehi_epi16(
			_mm_shufflelo_epi16((__m128i)value, _MM_SHUFFLE(2, 1, 0, 3)), _MM_SHUFFLE(2, 1, 0, 3));
#endif
	return value << by | value >> (64 - by);
}

INLINE void siphash_mixed_round(struct siphash_mixed *s)
{
	for (int i = 0; i < MIXED_SINGLES; i++)
		siphash_lanes_round(&s->singles[i]);
	for (int i = 0; i < MIXED_PAIRS; i++)
		SIPHASH_ROUND(&s->pairs[i], rotate_pair);
}

/* A round of a state that absorbs `word`, of which `fork` has done the part that does not depend on the word. */
#define ABSORB_FORKED(s, fork, word, rotate_left)             \
	do {                                                  \
		(s)->v3 = (fork)->v3 ^ (word);                \
		(s)->v2 = (fork)->v2 + (s)->v3;               \
		(s)->v3 = rotate_left((s)->v3, 16) ^ (s)->v2; \
		(s)->v2 += (fork)->v1;                        \
		(s)->v0 = (fork)->v0 + (s)->v3;               \
		(s)->v1 = (fork)->v1_rotated ^ (s)->v2;       \
		(s)->v3 = rotate_left((s)->v3, 21) ^ (s)->v0; \
		(s)->v2 = rotate_left((s)->v2, 32);           \
	} while (0)

struct siphash_pair_fork {
	uint64_pair v0, v1, v1_rotated, v2, v3;
};

/* Starts all messages with the same key, and absorbs the first word of each. */
INLINE void siphash_mixed_begin(
	struct siphash_mixed *s, const struct siphash_state *key, const uint64_t words[MIXED_LANES])
{
	const struct siphash_lanes state = {key->v0, key->v1, key->v2, key->v3};
	struct siphash_lanes_fork fork;
	struct siphash_pair_fork pair_fork;
	uint64_pair pairs[MIXED_PAIRS];

	siphash_lanes_prepare(&fork, &state, 1);
	pair_fork = (struct siphash_pair_fork){{fork.v0, fork.v0}, {fork.v1, fork.v1},
		{fork.v1_rotated, fork.v1_rotated}, {fork.v2, fork.v2}, {fork.v3, fork.v3}};
	memcpy(pairs, words + MIXED_SINGLES, sizeof(pairs));
	for (int i = 0; i < MIXED_SINGLES; i++)
		ABSORB_FORKED(&s->singles[i], &fork, words[i], wide_rotate_left);
	for (int i = 0; i < MIXED_PAIRS; i++)
		ABSORB_FORKED(&s->pairs[i], &pair_fork, pairs[i], rotate_pair);
	siphash_mixed_round(s);
	for (int i = 0; i < MIXED_SINGLES; i++)
		s->singles[i].v0 ^= words[i];
	for (int i = 0; i < MIXED_PAIRS; i++)
		s->pairs[i].v0 ^= pairs[i];
}

/* Starts each message with a key of its own: keys[which[i]]. */
INLINE void siphash_mixed_begin_each(
	struct siphash_mixed *s, const struct siphash_state *keys, const uint32_t which[MIXED_LANES])
{
	for (int i = 0; i < MIXED_SINGLES; i++) {
		const struct siphash_state *key = &keys[which[i]];

		s->singles[i] = (struct siphash_lanes){key->v0, key->v1, key->v2, key->v3};
	}
	for (int i = 0; i < MIXED_PAIRS; i++) {
		const struct siphash_state *a = &keys[which[MIXED_SINGLES + 2 * i]];
		const struct siphash_state *b = &keys[which[MIXED_SINGLES + 2 * i + 1]];

		s->pairs[i] = (struct siphash_pair){{a->v0, b->v0}, {a->v1, b->v1}, {a->v2, b->v2}, {a->v3, b->v3}};
	}
}

/* Absorbs one word of each message. */
INLINE void siphash_mixed_absorb(struct siphash_mixed *s, const uint64_t words[MIXED_LANES])
{
	uint64_pair pairs[MIXED_PAIRS];

	memcpy(pairs, words + MIXED_SINGLES, sizeof(pairs));
	for (int i = 0; i < MIXED_SINGLES; i++)
		s->singles[i].v3 ^= words[i];
	for (int i = 0; i < MIXED_PAIRS; i++)
		s->pairs[i].v3 ^= pairs[i];
	siphash_mixed_round(s);
	siphash_mixed_round(s);
	for (int i = 0; i < MIXED_SINGLES; i++)
		s->singles[i].v0 ^= words[i];
	for (int i = 0; i < MIXED_PAIRS; i++)
		s->pairs[i].v0 ^= pairs[i];
}

/* Finishes the messages. The digests are the values that siphash() returns. */
INLINE void siphash_mixed_end(struct siphash_mixed *s, uint64_t digests[MIXED_LANES])
{
	uint64_pair pairs[MIXED_PAIRS];

	for (int i = 0; i < MIXED_SINGLES; i++)
		s->singles[i].v2 ^= 0xff;
	for (int i = 0; i < MIXED_PAIRS; i++)
		s->pairs[i].v2 ^= 0xff;
#pragma GCC unroll 1
	for (int i = 0; i < 3; i++)
		siphash_mixed_round(s);
	for (int i = 0; i < MIXED_SINGLES; i++)
		SIPHASH_DIGEST(&s->singles[i], digests[i], wide_rotate_left);
	for (int i = 0; i < MIXED_PAIRS; i++)
		SIPHASH_DIGEST(&s->pairs[i], pairs[i], rotate_pair);
	memcpy(digests + MIXED_SINGLES, pairs, sizeof(pairs));
}
