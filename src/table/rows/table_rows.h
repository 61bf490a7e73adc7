/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inner loop of table_build: for many rows at once, it hashes every candidate and keeps the best ones of each row.
 * table_rows.c is compiled once per ISA, and all variants give the same rows. A call writes only the rows of its range,
 * so different ranges may run in different threads.
 */
#pragma once

#include "common/isa.h"
#include "table/table.h"

/* A backend that is not inactive, and so can become a hop. */
struct table_candidate {
	uint64_t word; /* table_rows_word() */
	bool preferred; /* may be the first hop */
	uint16_t backend; /* index in the table */
	uint16_t weight;
};

struct table_rows_job {
	const uint8_t *seed; /* SIPHASH_KEY_SIZE bytes */
	const struct table_candidate *candidates;
	uint32_t candidate_count;
	unsigned row_hops; /* <= candidate_count */
	uint16_t *rows; /* TABLE_ROWS * row_hops */
	bool weighted; /* the candidates have different weights */
};

/* Fills the rows from `first` up to, but without, `end`. Both are multiples of TABLE_ROWS_BLOCK. */
typedef void table_rows_fn(const struct table_rows_job *job, uint32_t first, uint32_t end);

#define TABLE_ROWS_BLOCK 64

/* Writes the scores of the rows from `first` on, which is a multiple of TABLE_ROWS_BLOCK: scores[i][row - first] is
 * that of the address with words[i]. */
typedef void table_scores_fn(const uint8_t *seed, const uint64_t *words, uint32_t count, uint32_t first,
	uint64_t (*scores)[TABLE_ROWS_BLOCK]);

table_rows_fn table_rows_plain, table_rows_avx2, table_rows_avx512;
table_scores_fn table_scores_plain, table_scores_avx2, table_scores_avx512;

/* Call only the variants that isa_usable() accepts. */
extern table_rows_fn *const table_rows_by_isa[ISA_COUNT];
extern table_scores_fn *const table_scores_by_isa[ISA_COUNT];

/*
 * Returns the last word that SipHash absorbs for a score, after the row's seed, which takes 8 bytes: the IPv4 address,
 * or the label of an IPv6 address; and the length of the whole message in the top byte. seed: of the table; IPv4 needs
 * none.
 */
uint64_t table_rows_word(const uint8_t seed[SIPHASH_KEY_SIZE], const struct netaddr *addr);

/* Returns the seed of a row, and the score of a backend in it as a number. seed: of the table. */
uint64_t table_rows_seed(const uint8_t seed[SIPHASH_KEY_SIZE], uint32_t row);
uint64_t table_rows_score(const uint8_t seed[SIPHASH_KEY_SIZE], uint64_t row_seed, uint64_t word);

/* Writes the candidates of a table to `out`, which has room for all backends, in the order of the backends. Returns the
 * number of candidates. */
uint32_t table_rows_candidates(const struct table *table, struct table_candidate *out);

/* Returns true if the candidates have different weights. */
bool table_rows_weighted(const struct table_candidate *candidates, uint32_t count);
