/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/rows/table_match.h"

#include <errno.h>
#include <stdlib.h>

/* A row that a proxy holds. */
struct held {
	uint64_t score;
	uint32_t row;
};

/* The rows that a proxy holds: a heap with the least preferred row at its root. */
struct heap {
	struct held *rows;
	uint32_t count, cap;
};

static bool is_worse(const struct held *a, const struct held *b)
{
	return a->score != b->score ? a->score > b->score : a->row > b->row;
}

static void heap_push(struct heap *heap, struct held row)
{
	uint32_t at = heap->count++;

	for (; at > 0 && is_worse(&row, &heap->rows[(at - 1) / 2]); at = (at - 1) / 2)
		heap->rows[at] = heap->rows[(at - 1) / 2];
	heap->rows[at] = row;
}

static void heap_replace_root(struct heap *heap, struct held row)
{
	uint32_t at = 0, child;

	for (; (child = 2 * at + 1) < heap->count; at = child) {
		child += child + 1 < heap->count && is_worse(&heap->rows[child + 1], &heap->rows[child]);
		if (!is_worse(&heap->rows[child], &row))
			break;
		heap->rows[at] = heap->rows[child];
	}
	heap->rows[at] = row;
}

/* Returns the row that the proxy rejects: this one, or one that it held; TABLE_MATCH_NONE: it rejects none. */
static uint32_t propose(struct heap *heap, struct held row)
{
	struct held root;

	if (heap->count < heap->cap) {
		heap_push(heap, row);
		return TABLE_MATCH_NONE;
	}
	if (heap->cap == 0 || !is_worse(&heap->rows[0], &row))
		return row.row;
	root = heap->rows[0];
	heap_replace_root(heap, row);
	return root.row;
}

/* Lays the heaps of all proxies out in one array. Returns it; NULL: out of memory. */
static struct held *heaps_open(const struct table_match_job *job, struct heap *heaps)
{
	struct held *rows, *next;
	size_t total = 0;

	for (uint32_t p = 0; p < job->proxy_count; p++) {
		heaps[p].cap = job->caps[p] < job->row_count ? job->caps[p] : job->row_count;
		total += heaps[p].cap;
	}
	rows = next = malloc((total + 1) * sizeof(*rows));
	for (uint32_t p = 0; rows && p < job->proxy_count; p++) {
		heaps[p].rows = next;
		next += heaps[p].cap;
	}
	return rows;
}

int table_match(const struct table_match_job *job, const uint32_t *order, uint32_t *matched)
{
	struct heap *heaps = calloc(job->proxy_count + 1, sizeof(*heaps));
	struct held *rows = heaps ? heaps_open(job, heaps) : NULL;

	for (uint32_t i = 0; rows && i < job->row_count; i++) {
		uint32_t row = order ? order[i] : i;

		/* The row that a proxy rejects proposes next. */
		while (row != TABLE_MATCH_NONE) {
			struct table_proposal proposal;
			uint32_t rejected = row;

			matched[row] = TABLE_MATCH_NONE;
			if (!job->next(job->context, row, &proposal))
				break;
			rejected = propose(&heaps[proposal.proxy], (struct held){proposal.score, row});
			if (rejected != row)
				matched[row] = proposal.proxy;
			row = rejected;
		}
	}
	free(rows);
	free(heaps);
	return rows ? 0 : -ENOMEM;
}
