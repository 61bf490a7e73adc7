/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/counts/count_rows.h"

#include <stdlib.h>

#define LINE 128 /* bytes; CPUs prefetch cache lines in pairs */

bool count_rows_alloc(struct count_rows *rows, unsigned kinds, size_t count, unsigned workers)
{
	size_t per_line = LINE / sizeof(uint64_t);
	size_t stride = (count + per_line) / per_line * per_line;
	/* calloc() does not touch new pages, so a worker's row gets memory when the worker counts. */
	char *memory = calloc(1, kinds * (workers + 1) * stride * sizeof(uint64_t) + LINE);

	*rows = (struct count_rows){.stride = stride, .kinds = kinds, .workers = workers, .memory = memory};
	if (memory)
		rows->rows = (uint64_t *)(memory + (LINE - (uintptr_t)memory % LINE));
	return memory;
}

void count_rows_free(struct count_rows *rows)
{
	free(rows->memory);
	*rows = (struct count_rows){0};
}

uint64_t count_rows_sum(const struct count_rows *rows, unsigned kind, size_t index)
{
	const uint64_t *row = count_rows_earlier(rows, kind);
	uint64_t sum = 0;

	for (unsigned worker = 0; worker <= rows->workers; worker++)
		sum += __atomic_load_n(&row[worker * rows->stride + index], __ATOMIC_RELAXED);
	return sum;
}

static int compare_keys(const void *a, const void *b, void *compare)
{
	const struct count_key *left = a, *right = b;
	int order = (*(count_compare **)compare)(left->key, right->key);

	return order ? order : (left->index > right->index) - (left->index < right->index);
}

void count_rows_match(struct count_key *to, size_t to_count, struct count_key *from, size_t from_count,
	count_compare *compare, count_pair *pair, void *context)
{
	qsort_r(to, to_count, sizeof(*to), compare_keys, &compare);
	qsort_r(from, from_count, sizeof(*from), compare_keys, &compare);
	for (size_t t = 0, f = 0; f < from_count;) {
		int order = t < to_count ? compare(to[t].key, from[f].key) : 1;

		if (order >= 0)
			pair(context, order == 0 ? to[t].index : COUNT_GONE, from[f].index);
		t += order <= 0;
		f += order >= 0;
	}
}
