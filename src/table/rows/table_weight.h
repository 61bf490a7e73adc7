/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weighted rendezvous hashing (docs/reference/table-rows.md#natural-order) in integers, so that every machine gets the
 * same order. Pure, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A backend in the natural order of a row. */
struct table_rank {
	uint64_t key, score;
};

/* Returns the key of a backend. The score is the digest as a big-endian number. Keys of equal weights never contradict
 * the order of the scores, but some are equal. */
uint64_t table_weight_key(uint64_t score, unsigned weight);

static inline struct table_rank table_rank_of(uint64_t score, unsigned weight)
{
	return (struct table_rank){table_weight_key(score, weight), score};
}

/* True if `a` comes before `b`. If neither comes before the other, the order in the table decides. */
static inline bool table_rank_before(const struct table_rank *a, const struct table_rank *b)
{
	return a->key != b->key ? a->key < b->key : a->score < b->score;
}
