/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inner loop of table_build: hashes every candidate in many rows at once and keeps the best few
 * of each row. table_rows.c is compiled once for each ISA; the results are equal to the
 * byte. Writes only the rows that it is given, so different ranges may run in different threads.
 */
#ifndef GLB_TABLE_TABLE_ROWS_H
#define GLB_TABLE_TABLE_ROWS_H

#include "common/isa.h"
#include "table/table.h"

/* A backend that takes part in the rows: its address as the words that SipHash absorbs after the
 * row's seed. */
struct table_candidate {
	uint64_t words[3];
	uint8_t word_count;
	bool preferred; /* may be the first hop */
	uint16_t backend; /* index in the table */
};

struct table_rows_job {
	const uint8_t *seed; /* SIPHASH_KEY_SIZE bytes */
	const struct table_candidate *candidates;
	uint32_t candidate_count;
	unsigned row_hops; /* <= candidate_count */
	uint16_t *rows; /* TABLE_ROWS * row_hops */
};

/* Rows first..end; both are multiples of TABLE_ROWS_BLOCK. */
typedef void table_rows_fn(const struct table_rows_job *job, uint32_t first, uint32_t end);

#define TABLE_ROWS_BLOCK 64

table_rows_fn table_rows_plain, table_rows_avx2, table_rows_avx512;

/* Call only the variants that isa_usable() accepts. */
extern table_rows_fn *const table_rows_by_isa[ISA_COUNT];

/* The candidates of a table, in the order of its backends; `out` has room for all backends. Returns
 * how many. */
uint32_t table_rows_candidates(const struct table *table, struct table_candidate *out);

#endif
