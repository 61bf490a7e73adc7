/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of many things, such as backends: for each kind of count a row per worker, and a row for what earlier
 * forwarding tables had counted. A worker writes only its own rows, with plain stores. The control thread makes the
 * rows for a new table and writes those of the earlier ones. Any thread that may read the forwarding table may add the
 * rows up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct count_rows {
	/* For each kind, the row of earlier tables and then one of each worker; of `stride` counts each */
	uint64_t *rows;
	size_t stride; /* a multiple of a cache line */
	unsigned kinds, workers;
	void *memory; /* owned */
};

/* count: of each row. False: out of memory. The caller frees *rows with count_rows_free(). */
bool count_rows_alloc(struct count_rows *rows, unsigned kinds, size_t count, unsigned workers);
void count_rows_free(struct count_rows *rows);

/* Returns the row of earlier tables. */
static inline uint64_t *count_rows_earlier(const struct count_rows *rows, unsigned kind)
{
	return rows->rows + kind * (rows->workers + 1) * rows->stride;
}

/* Returns the row of a worker. */
static inline uint64_t *count_rows_of(const struct count_rows *rows, unsigned kind, unsigned worker)
{
	return rows->rows + (kind * (rows->workers + 1) + 1 + worker) * rows->stride;
}

/* Returns the sum of all rows of a kind. */
uint64_t count_rows_sum(const struct count_rows *rows, unsigned kind, size_t index);

/* Something that has counts: what it is recognised by, and its index in the rows. */
struct count_key {
	const void *key;
	size_t index;
};

/* Less than, equal to or greater than 0. a, b: members `key`. */
typedef int count_compare(const void *a, const void *b);

/* The index of a thing that is no longer there. */
#define COUNT_GONE SIZE_MAX

/* Called for a thing with its old index and its new one, or COUNT_GONE. */
typedef void count_pair(void *context, size_t to, size_t from);

/* Calls pair() for each thing of `from`. Of several with one key, the n-th becomes the n-th of `to`. Sorts
 * both arrays. */
void count_rows_match(struct count_key *to, size_t to_count, struct count_key *from, size_t from_count,
	count_compare *compare, count_pair *pair, void *context);
