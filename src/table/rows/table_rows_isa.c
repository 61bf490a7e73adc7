/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/rows/table_rows_isa.h"

#include <pthread.h>
#include <string.h>

enum {
	CANDIDATES = 23, /* not a multiple of what a vector holds */
	MOST_HOPS = 3, /* rows of two hops have code of their own */
};

static void fill_candidates(struct table_candidate candidates[CANDIDATES])
{
	for (uint16_t i = 0; i < CANDIDATES; i++) {
		const struct netaddr addr = netaddr_from_bytes(NETADDR_V4, (const uint8_t[]){10, 0, 7, (uint8_t)(9 * i)});

		candidates[i] = (struct table_candidate){
			.word = table_rows_word(NULL, &addr), .preferred = i % 5 > 0, .backend = i, .weight = 1 + i % 4};
	}
}

bool table_rows_same_as_plain(table_rows_fn *fill, table_scores_fn *score)
{
	static const uint8_t seed[] = "rows of each ISA"; /* the first 16 bytes */
	uint16_t rows[2][TABLE_ROWS_BLOCK * MOST_HOPS];
	uint64_t words[CANDIDATES], scores[2][CANDIDATES][TABLE_ROWS_BLOCK];
	struct table_candidate candidates[CANDIDATES];
	bool same = true;

	fill_candidates(candidates);
	for (unsigned hops = 2; hops <= MOST_HOPS; hops++)
		for (int weighted = 0; weighted < 2; weighted++) {
			struct table_rows_job job = {seed, candidates, CANDIDATES, hops, rows[0], weighted};

			table_rows_plain(&job, 0, TABLE_ROWS_BLOCK);
			job.rows = rows[1];
			fill(&job, 0, TABLE_ROWS_BLOCK);
			same &= memcmp(rows[0], rows[1], TABLE_ROWS_BLOCK * hops * sizeof(*rows[0])) == 0;
		}
	for (uint32_t i = 0; i < CANDIDATES; i++)
		words[i] = candidates[i].word;
	table_scores_plain(seed, words, CANDIDATES, TABLE_ROWS_BLOCK, scores[0]);
	score(seed, words, CANDIDATES, TABLE_ROWS_BLOCK, scores[1]);
	return same && memcmp(scores[0], scores[1], sizeof(scores[0])) == 0;
}

static enum isa chosen;

static void choose(void)
{
	for (enum isa isa = isa_widest(); isa > ISA_PLAIN; isa--)
		if (isa_usable(isa) && table_rows_same_as_plain(table_rows_by_isa[isa], table_scores_by_isa[isa])) {
			chosen = isa;
			return;
		}
}

enum isa table_rows_isa(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose);
	return chosen;
}
