/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/table_share.h"

#include <stdlib.h>
#include <string.h>

typedef bool same_fn(const struct table *a, const struct table *b);
typedef uint64_t digest_fn(const struct table *table);

static const uint8_t no_key[SIPHASH_KEY_SIZE];

static bool same_past(const struct table_past *a, const struct table_past *b)
{
	bool same = a->balance == b->balance && a->backend_count == b->backend_count;

	for (uint32_t i = 0; same && i < a->backend_count; i++)
		same = a->backends[i].weight == b->backends[i].weight &&
		       a->backends[i].healthy == b->backends[i].healthy &&
		       netaddr_compare(&a->backends[i].addr, &b->backends[i].addr) == 0;
	return same;
}

bool table_same_rows_input(const struct table *a, const struct table *b)
{
	bool same = a->hops == b->hops && a->balance == b->balance && a->backend_count == b->backend_count &&
		    a->past_count == b->past_count && memcmp(a->seed, b->seed, sizeof(a->seed)) == 0;

	for (uint32_t i = 0; same && i < a->backend_count; i++) {
		const struct table_backend *x = &a->backends[i], *y = &b->backends[i];

		same = netaddr_compare(&x->addr, &y->addr) == 0 && x->state == y->state && x->healthy == y->healthy &&
		       table_backend_weight(x) == table_backend_weight(y);
	}
	for (uint32_t i = 0; same && i < a->past_count; i++)
		same = same_past(&a->past[i], &b->past[i]);
	return same;
}

/* Tables with the same input have the same digest. Others mostly have another one. */
static uint64_t digest_input(const struct table *table)
{
	struct siphash_state state;

	siphash_begin(&state, no_key);
	siphash_update(&state, table->seed, sizeof(table->seed));
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];
		const struct {
			uint16_t weight;
			uint8_t state, healthy, zero[4];
		} entry = {.weight = (uint16_t)table_backend_weight(backend),
			.state = backend->state,
			.healthy = backend->healthy};

		siphash_update(&state, &entry, sizeof(entry));
		siphash_update(&state, backend->addr.bytes, sizeof(backend->addr.bytes));
	}
	return siphash_end(&state, NULL, 0);
}

static bool same_rows(const struct table *a, const struct table *b)
{
	return a->row_hops == b->row_hops &&
	       (a->rows == b->rows || memcmp(a->rows, b->rows, sizeof(*a->rows) * TABLE_ROWS * a->row_hops) == 0);
}

static uint64_t digest_rows(const struct table *table)
{
	return siphash(no_key, table->rows, sizeof(*table->rows) * TABLE_ROWS * table->row_hops);
}

static void find_same(const struct table_set *set, digest_fn *digest, same_fn *is_same, uint32_t same[TABLE_MAX_TABLES])
{
	uint64_t digests[TABLE_MAX_TABLES];

	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];

		same[t] = t;
		/* A borrowed array is known without its digest. */
		for (uint32_t i = 0; table->borrows_rows && same[t] == t && i < t; i++)
			if (set->tables[i].rows == table->rows && is_same(&set->tables[i], table))
				same[t] = same[i];
		if (same[t] != t)
			continue;
		digests[t] = digest(table);
		for (uint32_t i = 0; same[t] == t && i < t; i++)
			if (same[i] == i && digests[i] == digests[t] && is_same(&set->tables[i], table))
				same[t] = i;
	}
}

void table_share_inputs(const struct table_set *set, uint32_t same[TABLE_MAX_TABLES])
{
	find_same(set, digest_input, table_same_rows_input, same);
}

void table_share_rows(const struct table_set *set, uint32_t same[TABLE_MAX_TABLES])
{
	find_same(set, digest_rows, same_rows, same);
}

void table_merge_rows(struct table_set *set)
{
	uint32_t same[TABLE_MAX_TABLES];

	table_share_rows(set, same);
	for (uint32_t t = 0; t < set->count; t++) {
		if (same[t] == t || set->tables[t].borrows_rows)
			continue;
		free(set->tables[t].rows);
		table_borrow_rows(&set->tables[t], &set->tables[same[t]]);
	}
}
