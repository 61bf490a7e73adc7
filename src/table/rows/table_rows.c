/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/rows/table_rows.h"

#include <string.h>

#include "common/siphash_lanes.h"
#include "table/rows/table_weight.h"

/* Each lane of a vector holds one row. GROUPS vectors are hashed side by side; with more of them, the CPU would run out
 * of registers. */
#if defined(__AVX512F__)
#define GROUPS 4
#else
#define GROUPS 2
#endif
#define BLOCK (WIDE * GROUPS)

_Static_assert(TABLE_ROWS_BLOCK % BLOCK == 0, "a range of rows must be whole blocks");

/*
 * Digests are ordered as byte strings, that is as big-endian numbers. order_key() turns a digest into a value that
 * wide_below() compares in this order.
 */
#if defined(__AVX512F__)
typedef __mmask8 wide_mask;

INLINE wide order_key(wide digest)
{
	return (wide)_mm512_shuffle_epi8((__m512i)digest,
		_mm512_set4_epi64(0x08090a0b0c0d0e0f, 0x0001020304050607, 0x08090a0b0c0d0e0f, 0x0001020304050607));
}

INLINE wide_mask wide_below(wide a, wide b)
{
	return _mm512_cmplt_epu64_mask((__m512i)a, (__m512i)b);
}

INLINE wide wide_select(wide_mask mask, wide yes, wide no)
{
	return (wide)_mm512_mask_blend_epi64(mask, (__m512i)no, (__m512i)yes);
}

INLINE bool wide_any(wide_mask mask)
{
	return mask;
}
#elif defined(__AVX2__)
typedef wide wide_mask; /* all bits of a lane, or none */

/* The highest bit is inverted, because AVX2 can only compare signed numbers. */
INLINE wide order_key(wide digest)
{
	return (wide)_mm256_shuffle_epi8((__m256i)digest, _mm256_setr_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f,
								  0x0001020304050607, 0x08090a0b0c0d0e0f)) ^
	       (uint64_t)1 << 63;
}

INLINE wide_mask wide_below(wide a, wide b)
{
	return (wide_mask)_mm256_cmpgt_epi64((__m256i)b, (__m256i)a);
}

INLINE wide wide_select(wide_mask mask, wide yes, wide no)
{
	return (wide)_mm256_blendv_epi8((__m256i)no, (__m256i)yes, (__m256i)mask);
}

INLINE bool wide_any(wide_mask mask)
{
	return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
}
#else
typedef bool wide_mask;

INLINE wide order_key(wide digest)
{
	return __builtin_bswap64(digest);
}

INLINE wide_mask wide_below(wide a, wide b)
{
	return a < b;
}

INLINE wide wide_select(wide_mask mask, wide yes, wide no)
{
	return mask ? yes : no;
}

INLINE bool wide_any(wide_mask mask)
{
	return mask;
}
#endif

struct ranked {
	wide key, backend;
};

/* The best candidates seen so far, for each row of a block. The lowest key is the best. */
struct best {
	struct ranked hops[TABLE_MAX_HOPS][GROUPS]; /* ascending */
	struct ranked first[GROUPS]; /* the best of the preferred candidates */
};

/* Candidates arrive in the order of the backends, and a candidate does not pass one with an equal key. So equal keys
 * keep the order of the backends. */
INLINE void best_insert(struct best *best, unsigned count, unsigned hops, int g, wide key, uint64_t backend)
{
	struct ranked carried = {key, wide_same(backend)};
	wide_mask shift = (wide_mask){0};

	for (unsigned i = 0; i < count; i++) {
		struct ranked *at = &best->hops[i][g], old = *at;

		shift |= wide_below(key, old.key);
		at->key = wide_select(shift, carried.key, old.key);
		at->backend = wide_select(shift, carried.backend, old.backend);
		carried.key = wide_select(shift, old.key, carried.key);
		carried.backend = wide_select(shift, old.backend, carried.backend);
	}
	if (count < hops)
		best->hops[count][g] = carried;
}

INLINE void best_insert_first(struct best *best, bool fresh, int g, wide key, uint64_t backend)
{
	struct ranked *at = &best->first[g];
	wide_mask below = wide_below(key, at->key);

	at->key = fresh ? key : wide_select(below, key, at->key);
	at->backend = fresh ? wide_same(backend) : wide_select(below, wide_same(backend), at->backend);
}

INLINE void hash_candidate(
	const struct table_candidate *candidate, const struct siphash_lanes_fork seeded[GROUPS], wide keys[GROUPS])
{
	struct siphash_lanes states[GROUPS];

	siphash_lanes_absorb_forked(seeded, candidate->word, states, GROUPS);
	siphash_lanes_end(states, keys, GROUPS);
	for (int g = 0; g < GROUPS; g++)
		keys[g] = order_key(keys[g]);
}

/* If all candidates are preferred, the best of all is the first hop. */
static bool all_preferred(const struct table_rows_job *job)
{
	for (uint32_t c = 0; c < job->candidate_count; c++)
		if (!job->candidates[c].preferred)
			return false;
	return true;
}

INLINE void find_best(const struct table_rows_job *job, unsigned hops, bool any_first,
	const struct siphash_lanes_fork seeded[GROUPS], struct best *best)
{
	bool fresh = true;

	for (uint32_t c = 0; c < job->candidate_count; c++) {
		const struct table_candidate *candidate = &job->candidates[c];
		unsigned count = c < hops ? c : hops;
		wide_mask hit = (wide_mask){0};
		wide keys[GROUPS];

		hash_candidate(candidate, seeded, keys);
		if (count == hops)
			for (int g = 0; g < GROUPS; g++)
				hit |= wide_below(keys[g], best->hops[hops - 1][g].key);
		if (count < hops || wide_any(hit))
			for (int g = 0; g < GROUPS; g++)
				best_insert(best, count, hops, g, keys[g], candidate->backend);
		if (any_first || !candidate->preferred)
			continue;
		for (int g = 0; g < GROUPS; g++)
			best_insert_first(best, fresh, g, keys[g], candidate->backend);
		fresh = false;
	}
	if (any_first)
		memcpy(best->first, best->hops[0], sizeof(best->first));
}

/* The first hop is the best of the preferred candidates. The other hops are the best of the remaining candidates. */
INLINE void store_rows(const struct best *best, unsigned hops, uint16_t *rows)
{
	uint64_t backends[1 + TABLE_MAX_HOPS][BLOCK];

	for (int g = 0; g < GROUPS; g++) {
		memcpy(&backends[0][g * WIDE], &best->first[g].backend, sizeof(wide));
		for (unsigned i = 0; i < hops; i++)
			memcpy(&backends[1 + i][g * WIDE], &best->hops[i][g].backend, sizeof(wide));
	}
	for (int lane = 0; lane < BLOCK; lane++, rows += hops) {
		unsigned passed = 0;

		rows[0] = (uint16_t)backends[0][lane];
		for (unsigned i = 1; i < hops; i++) {
			passed |= backends[i][lane] == backends[0][lane];
			rows[i] = (uint16_t)backends[i + passed][lane];
		}
	}
}

/* The best candidates of one row, with weights. */
struct weighed {
	struct {
		struct table_rank rank;
		uint16_t backend;
	} hops[TABLE_MAX_HOPS], first; /* ascending; the best of the preferred candidates */
	bool has_first;
};

static void weighed_insert(
	struct weighed *row, unsigned count, unsigned hops, uint64_t score, const struct table_candidate *candidate)
{
	struct table_rank rank = table_rank_of(score, candidate->weight);
	unsigned at = count;

	if (candidate->preferred && (!row->has_first || table_rank_before(&rank, &row->first.rank))) {
		row->first.rank = rank;
		row->first.backend = candidate->backend;
		row->has_first = true;
	}
	while (at > 0 && table_rank_before(&rank, &row->hops[at - 1].rank))
		at--;
	if (at == hops)
		return;
	memmove(&row->hops[at + 1], &row->hops[at], ((count < hops ? count : hops - 1) - at) * sizeof(row->hops[0]));
	row->hops[at].rank = rank;
	row->hops[at].backend = candidate->backend;
}

/* Like store_rows(), for one row. */
static void weighed_store(const struct weighed *row, unsigned hops, uint16_t *to)
{
	unsigned used = 1;

	to[0] = row->first.backend;
	for (unsigned i = 0; used < hops; i++)
		if (row->hops[i].backend != row->first.backend)
			to[used++] = row->hops[i].backend;
}

/* Lanes hash the candidates, and plain code weighs them. */
static void fill_weighted(const struct table_rows_job *job, const struct siphash_lanes_fork seeded[GROUPS], uint16_t *rows)
{
	struct weighed block[BLOCK] = {0};
	const unsigned hops = job->row_hops;

	for (uint32_t c = 0; c < job->candidate_count; c++) {
		struct siphash_lanes states[GROUPS];
		wide digests[GROUPS];
		uint64_t scores[BLOCK];

		siphash_lanes_absorb_forked(seeded, job->candidates[c].word, states, GROUPS);
		siphash_lanes_end(states, digests, GROUPS);
		memcpy(scores, digests, sizeof(scores));
		for (int lane = 0; lane < BLOCK; lane++)
			weighed_insert(&block[lane], c < hops ? c : hops, hops, __builtin_bswap64(scores[lane]),
				&job->candidates[c]);
	}
	for (int lane = 0; lane < BLOCK; lane++)
		weighed_store(&block[lane], hops, rows + (size_t)lane * hops);
}

/* Prepares the states into which the candidates of the rows from `row` on are absorbed. */
INLINE void seed_rows(const struct siphash_lanes *fresh, uint32_t row, struct siphash_lanes_fork seeded[GROUPS])
{
	struct siphash_lanes states[GROUPS];
	wide words[GROUPS];

	/* row_seed = SipHash(seed, 4 bytes of the row number, big-endian) */
	for (uint32_t g = 0; g < GROUPS; g++) {
		uint64_t numbers[WIDE];

		for (uint32_t i = 0; i < WIDE; i++)
			numbers[i] = (uint64_t)4 << 56 | __builtin_bswap32(row + g * WIDE + i);
		words[g] = wide_load(numbers);
		states[g] = *fresh;
	}
	siphash_lanes_absorb(states, words, GROUPS);
	siphash_lanes_end(states, words, GROUPS);
	/* The row's seed is the first word of every message, so it is absorbed once for all candidates. */
	for (int g = 0; g < GROUPS; g++)
		states[g] = *fresh;
	siphash_lanes_absorb(states, words, GROUPS);
	siphash_lanes_prepare(seeded, states, GROUPS);
}

void ISA_NAME(table_rows)(const struct table_rows_job *job, uint32_t first, uint32_t end)
{
	const bool any_first = all_preferred(job);
	struct siphash_lanes fresh;

	siphash_lanes_begin(&fresh, job->seed);
	for (uint32_t row = first; row < end; row += BLOCK) {
		struct siphash_lanes_fork seeded[GROUPS];
		struct best best;

		seed_rows(&fresh, row, seeded);
		if (job->weighted) {
			fill_weighted(job, seeded, job->rows + (size_t)row * job->row_hops);
			continue;
		}
		if (job->row_hops == 2) /* nearly always; with a constant, the compiler unrolls the loops over hops */
			find_best(job, 2, any_first, seeded, &best);
		else
			find_best(job, job->row_hops, any_first, seeded, &best);
		store_rows(&best, job->row_hops, job->rows + (size_t)row * job->row_hops);
	}
}

void ISA_NAME(table_scores)(const uint8_t *seed, const uint64_t *words, uint32_t count, uint32_t first,
	uint64_t (*scores)[TABLE_ROWS_BLOCK])
{
	struct siphash_lanes fresh;

	siphash_lanes_begin(&fresh, seed);
	for (uint32_t at = 0; at < TABLE_ROWS_BLOCK; at += BLOCK) {
		struct siphash_lanes_fork seeded[GROUPS];

		seed_rows(&fresh, first + at, seeded);
		for (uint32_t i = 0; i < count; i++) {
			struct siphash_lanes states[GROUPS];
			wide digests[GROUPS];

			siphash_lanes_absorb_forked(seeded, words[i], states, GROUPS);
			siphash_lanes_end(states, digests, GROUPS);
			memcpy(&scores[i][at], digests, sizeof(digests));
			for (int lane = 0; lane < BLOCK; lane++)
				scores[i][at + lane] = __builtin_bswap64(scores[i][at + lane]);
		}
	}
}
