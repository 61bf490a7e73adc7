/* SPDX-License-Identifier: BSD-3-Clause */
#include "table_rows.h"

#include <string.h>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#include "common/byteorder.h"

/*
 * A lane is a row. GROUPS vectors are hashed side by side, because one SipHash is a chain of
 * dependent steps that alone leaves the CPU idle; more groups than these run out of registers.
 */
#if defined(__AVX512F__)
#define TABLE_ROWS_NAME table_rows_avx512
#define LANES           8
#define GROUPS          4
#elif defined(__AVX2__)
#define TABLE_ROWS_NAME table_rows_avx2
#define LANES           4
#define GROUPS          2
#else
#define TABLE_ROWS_NAME table_rows_plain
#define LANES           2
#define GROUPS          2
#endif
#define BLOCK (LANES * GROUPS)

_Static_assert(TABLE_ROWS_BLOCK % BLOCK == 0, "a range of rows must be whole blocks");

typedef uint64_t lanes __attribute__((vector_size(8 * LANES)));
typedef uint8_t lane_bytes __attribute__((vector_size(8 * LANES)));

struct sip {
	lanes v0, v1, v2, v3;
};

/* The smallest hashes seen so far in one row, ascending. */
struct best {
	uint64_t hash[TABLE_MAX_HOPS];
	uint16_t backend[TABLE_MAX_HOPS];
	unsigned count;
	uint64_t preferred_hash;
	uint16_t preferred;
	bool has_preferred;
};

#define INLINE static inline __attribute__((always_inline))

INLINE lanes rotate_left(lanes value, int by)
{
	return value << by | value >> (64 - by);
}

INLINE void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotate_left(s->v1, 13) ^ s->v0;
	s->v3 = rotate_left(s->v3, 16) ^ s->v2;
	s->v0 = rotate_left(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rotate_left(s->v1, 17) ^ s->v2;
	s->v3 = rotate_left(s->v3, 21) ^ s->v0;
	s->v2 = rotate_left(s->v2, 32);
}

INLINE void sip_absorb(struct sip state[GROUPS], const lanes word[GROUPS])
{
	for (int g = 0; g < GROUPS; g++)
		state[g].v3 ^= word[g];
	for (int i = 0; i < 2; i++)
		for (int g = 0; g < GROUPS; g++)
			sip_round(&state[g]);
	for (int g = 0; g < GROUPS; g++)
		state[g].v0 ^= word[g];
}

INLINE void sip_absorb_same(struct sip state[GROUPS], uint64_t word)
{
	lanes same[GROUPS];

	for (int g = 0; g < GROUPS; g++)
		same[g] = (lanes){0} + word;
	sip_absorb(state, same);
}

INLINE void sip_finish(struct sip state[GROUPS], lanes digest[GROUPS])
{
	for (int g = 0; g < GROUPS; g++)
		state[g].v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		for (int g = 0; g < GROUPS; g++)
			sip_round(&state[g]);
	for (int g = 0; g < GROUPS; g++)
		digest[g] = state[g].v0 ^ state[g].v1 ^ state[g].v2 ^ state[g].v3;
}

INLINE void sip_begin(struct sip state[GROUPS], const uint8_t *key)
{
	struct siphash_state one;

	siphash_begin(&one, key);
	for (int g = 0; g < GROUPS; g++)
		state[g] = (struct sip){(lanes){0} + one.v0, (lanes){0} + one.v1,
			(lanes){0} + one.v2, (lanes){0} + one.v3};
}

/* Digest bytes are compared as byte strings: as big-endian numbers. */
INLINE lanes swap_bytes(lanes value)
{
#if LANES == 8
	return (lanes)_mm512_shuffle_epi8(
		(__m512i)value, _mm512_set4_epi64(0x08090a0b0c0d0e0f, 0x0001020304050607,
					0x08090a0b0c0d0e0f, 0x0001020304050607));
#elif LANES == 4
	return (lanes)_mm256_shuffle_epi8(
		(__m256i)value, _mm256_setr_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f,
					0x0001020304050607, 0x08090a0b0c0d0e0f));
#else
	for (int i = 0; i < LANES; i++)
		value[i] = __builtin_bswap64(value[i]);
	return value;
#endif
}

/* A bit for each lane where a <= b. */
INLINE uint32_t lanes_not_above(lanes a, lanes b)
{
#if LANES == 8
	return _mm512_cmple_epu64_mask((__m512i)a, (__m512i)b);
#elif LANES == 4
	return (uint32_t)_mm256_movemask_pd((__m256d)(a <= b));
#else
	uint32_t mask = 0;

	for (int i = 0; i < LANES; i++)
		mask |= (uint32_t)(a[i] <= b[i]) << i;
	return mask;
#endif
}

/* Equal hashes keep the order of the backends, which arrive in that order. */
static void best_insert(
	struct best *best, unsigned hops, uint64_t hash, const struct table_candidate *candidate)
{
	unsigned at = best->count;

	if (candidate->preferred && (!best->has_preferred || hash < best->preferred_hash)) {
		best->preferred_hash = hash;
		best->preferred = candidate->backend;
		best->has_preferred = true;
	}
	while (at > 0 && hash < best->hash[at - 1])
		at--;
	if (at == hops)
		return;
	if (best->count < hops)
		best->count++;
	for (unsigned i = best->count - 1; i > at; i--) {
		best->hash[i] = best->hash[i - 1];
		best->backend[i] = best->backend[i - 1];
	}
	best->hash[at] = hash;
	best->backend[at] = candidate->backend;
}

/* What a candidate must not exceed to be of interest in this row. */
static uint64_t best_limit(const struct best *best, unsigned hops)
{
	return best->count < hops ? UINT64_MAX : best->hash[hops - 1];
}

static uint64_t best_preferred_limit(const struct best *best, unsigned hops)
{
	uint64_t limit = best_limit(best, hops);

	if (!best->has_preferred)
		return UINT64_MAX;
	return best->preferred_hash > limit ? best->preferred_hash : limit;
}

/* First hop: the best preferred one. Then the natural order without it. */
static void best_store(const struct best *best, unsigned hops, uint16_t *row)
{
	unsigned count = 1;

	row[0] = best->preferred;
	for (unsigned i = 0; i < hops && count < hops; i++)
		if (best->backend[i] != best->preferred)
			row[count++] = best->backend[i];
}

INLINE void fill_block(
	const struct table_rows_job *job, const struct sip seeded[GROUPS], struct best best[BLOCK])
{
	/* Limits for candidates that are not preferred, and that are. */
	uint64_t limits[2][BLOCK] __attribute__((aligned(64)));
	uint64_t hashes[BLOCK] __attribute__((aligned(64)));

	memset(limits, 0xff, sizeof(limits));
	for (uint32_t c = 0; c < job->candidate_count; c++) {
		const struct table_candidate *candidate = &job->candidates[c];
		struct sip state[GROUPS];
		lanes digest[GROUPS];
		uint32_t hits = 0;

		memcpy(state, seeded, sizeof(state));
		for (unsigned w = 0; w < candidate->word_count; w++)
			sip_absorb_same(state, candidate->words[w]);
		sip_finish(state, digest);
		for (int g = 0; g < GROUPS; g++) {
			lanes limit;

			memcpy(&limit, &limits[candidate->preferred][g * LANES], sizeof(limit));
			digest[g] = swap_bytes(digest[g]);
			hits |= lanes_not_above(digest[g], limit) << (g * LANES);
		}
		if (!hits)
			continue;
		memcpy(hashes, digest, sizeof(hashes));
		for (; hits; hits &= hits - 1) {
			int lane = __builtin_ctz(hits);

			best_insert(&best[lane], job->row_hops, hashes[lane], candidate);
			limits[false][lane] = best_limit(&best[lane], job->row_hops);
			limits[true][lane] = best_preferred_limit(&best[lane], job->row_hops);
		}
	}
}

void TABLE_ROWS_NAME(const struct table_rows_job *job, uint32_t first, uint32_t end)
{
	struct sip fresh[GROUPS];

	sip_begin(fresh, job->seed);
	for (uint32_t row = first; row < end; row += BLOCK) {
		struct best best[BLOCK] = {0};
		uint64_t numbers[BLOCK];
		struct sip state[GROUPS];
		lanes word[GROUPS];

		/* row_seed = SipHash(seed, 4 bytes of the row number, big-endian) */
		for (uint32_t i = 0; i < BLOCK; i++)
			numbers[i] = (uint64_t)4 << 56 | __builtin_bswap32(row + i);
		memcpy(word, numbers, sizeof(word));
		memcpy(state, fresh, sizeof(state));
		sip_absorb(state, word);
		sip_finish(state, word);
		/* The rows' seeds are the first word of every message: absorbed once, for all
		 * candidates. */
		memcpy(state, fresh, sizeof(state));
		sip_absorb(state, word);
		fill_block(job, state, best);
		for (uint32_t i = 0; i < BLOCK; i++)
			best_store(&best[i], job->row_hops,
				job->rows + (size_t)(row + i) * job->row_hops);
	}
}
