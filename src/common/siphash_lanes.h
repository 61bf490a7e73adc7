/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SipHash-2-4 of several messages side by side, one in each 64-bit lane of a vector. The vectors are as wide as the ISA
 * that the including file is compiled for. In plain C there is a single lane; siphash_mixed.h is faster there. The
 * caller puts the length of the message into the top byte of its last word. The functions interleave `count` states,
 * because a single SipHash is a chain of dependent steps that leaves the CPU idle. Pure.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "common/siphash.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
#define WIDE 8 /* 64-bit lanes of a vector */
#elif defined(__AVX2__)
#define WIDE 4
#else
#define WIDE 1
#endif

#if WIDE > 1
typedef uint64_t wide __attribute__((vector_size(8 * WIDE)));
#else
typedef uint64_t wide;
#endif

struct siphash_lanes {
	wide v0, v1, v2, v3;
};

INLINE wide wide_load(const uint64_t *from)
{
	wide value;

	memcpy(&value, from, sizeof(value));
	return value;
}

INLINE wide wide_same(uint64_t value)
{
	return (wide){0} + value;
}

INLINE wide wide_rotate_left(wide value, int by)
{
	return value << by | value >> (64 - by);
}

/* Starts all lanes with the same key. */
INLINE void siphash_lanes_begin(struct siphash_lanes *s, const uint8_t key[SIPHASH_KEY_SIZE])
{
	struct siphash_state one;

	siphash_begin(&one, key);
	s->v0 = wide_same(one.v0);
	s->v1 = wide_same(one.v1);
	s->v2 = wide_same(one.v2);
	s->v3 = wide_same(one.v3);
}

/* A round of a state whose members have any integer or vector type. */
#define SIPHASH_ROUND(s, rotate_left)                         \
	do {                                                  \
		(s)->v0 += (s)->v1;                           \
		(s)->v2 += (s)->v3;                           \
		(s)->v1 = rotate_left((s)->v1, 13) ^ (s)->v0; \
		(s)->v3 = rotate_left((s)->v3, 16) ^ (s)->v2; \
		(s)->v0 = rotate_left((s)->v0, 32);           \
		(s)->v2 += (s)->v1;                           \
		(s)->v0 += (s)->v3;                           \
		(s)->v1 = rotate_left((s)->v1, 17) ^ (s)->v2; \
		(s)->v3 = rotate_left((s)->v3, 21) ^ (s)->v0; \
		(s)->v2 = rotate_left((s)->v2, 32);           \
	} while (0)

/* The digest of a state before its last round. Of this round, only what the digest depends on is done. */
#define SIPHASH_DIGEST(s, digest, rotate_left)                                                                       \
	do {                                                                                                         \
		(s)->v0 += (s)->v1;                                                                                  \
		(s)->v2 += (s)->v3;                                                                                  \
		(s)->v1 = rotate_left((s)->v1, 13) ^ (s)->v0;                                                        \
		(s)->v3 = rotate_left((s)->v3, 16) ^ (s)->v2;                                                        \
		(s)->v2 += (s)->v1;                                                                                  \
		(digest) = rotate_left((s)->v1, 17) ^ rotate_left((s)->v3, 21) ^ (s)->v2 ^ rotate_left((s)->v2, 32); \
	} while (0)

INLINE void siphash_lanes_round(struct siphash_lanes *s)
{
	SIPHASH_ROUND(s, wide_rotate_left);
}

/* Absorbs one word of each message into `count` states. */
INLINE void siphash_lanes_absorb(struct siphash_lanes *states, const wide *words, int count)
{
	for (int g = 0; g < count; g++)
		states[g].v3 ^= words[g];
	for (int i = 0; i < 2; i++)
		for (int g = 0; g < count; g++)
			siphash_lanes_round(&states[g]);
	for (int g = 0; g < count; g++)
		states[g].v0 ^= words[g];
}

/*
 * A state into which many different words will be absorbed. The part of the first round that does not depend on the
 * word is done.
 */
struct siphash_lanes_fork {
	wide v0, v1, v1_rotated, v2, v3, v3_rotated;
};

/* Makes a fork of each state. */
INLINE void siphash_lanes_prepare(struct siphash_lanes_fork *forks, const struct siphash_lanes *states, int count)
{
	for (int g = 0; g < count; g++) {
		const struct siphash_lanes *s = &states[g];
		wide v0 = s->v0 + s->v1, v1 = wide_rotate_left(s->v1, 13) ^ v0;

		forks[g] = (struct siphash_lanes_fork){
			.v0 = wide_rotate_left(v0, 32),
			.v1 = v1,
			.v1_rotated = wide_rotate_left(v1, 17),
			.v2 = s->v2,
			.v3 = s->v3,
			.v3_rotated = wide_rotate_left(s->v3, 16),
		};
	}
}

/* Fills `states` with the forked states after siphash_lanes_absorb() of the same word in all lanes. */
INLINE void siphash_lanes_absorb_forked(
	const struct siphash_lanes_fork *forks, uint64_t word, struct siphash_lanes *states, int count)
{
	const wide same = wide_same(word), rotated = wide_rotate_left(same, 16);

	for (int g = 0; g < count; g++) {
		const struct siphash_lanes_fork *fork = &forks[g];
		struct siphash_lanes *s = &states[g];

		s->v2 = fork->v2 + (fork->v3 ^ same);
		s->v3 = fork->v3_rotated ^ rotated ^ s->v2;
		s->v0 = fork->v0 + s->v3;
		s->v2 += fork->v1;
		s->v3 = wide_rotate_left(s->v3, 21) ^ s->v0;
		s->v1 = fork->v1_rotated ^ s->v2;
		s->v2 = wide_rotate_left(s->v2, 32);
	}
	for (int g = 0; g < count; g++)
		siphash_lanes_round(&states[g]);
	for (int g = 0; g < count; g++)
		states[g].v0 ^= same;
}

/* Finishes the states. The digests are the values that siphash() returns. */
INLINE void siphash_lanes_end(struct siphash_lanes *states, wide *digests, int count)
{
	for (int g = 0; g < count; g++)
		states[g].v2 ^= 0xff;
	for (int i = 0; i < 3; i++)
		for (int g = 0; g < count; g++)
			siphash_lanes_round(&states[g]);
	for (int g = 0; g < count; g++)
		SIPHASH_DIGEST(&states[g], digests[g], wide_rotate_left);
}
