/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/table_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"

struct pairing {
	const struct table_set *before, *after;
	uint32_t old_of[TABLE_MAX_TABLES],
		new_of[TABLE_MAX_TABLES]; /* partner of new table i, and of old table i; or TABLE_NONE */
	const struct bind_fate *old_fates[TABLE_MAX_TABLES], *new_fates[TABLE_MAX_TABLES];
};

/* Returns how well the old and the new table fit; 0: not at all. */
typedef uint32_t fit_fn(const struct pairing *pairing, uint32_t old, uint32_t new);

static uint32_t fit_binds(const struct pairing *pairing, uint32_t old, uint32_t new)
{
	uint32_t shared = 0;

	for (uint32_t i = 0; i < pairing->before->tables[old].bind_count; i++)
		shared += table_mask_has(&pairing->old_fates[old][i].tables, new);
	return shared;
}

static uint32_t fit_keys(const struct pairing *pairing, uint32_t old, uint32_t new)
{
	const struct table *a = &pairing->before->tables[old], *b = &pairing->after->tables[new];

	return memcmp(a->hash_key, b->hash_key, sizeof(a->hash_key)) == 0;
}

static uint32_t fit_indexes(const struct pairing *pairing, uint32_t old, uint32_t new)
{
	return old == new && (!pairing->before->tables[old].name || !pairing->after->tables[new].name);
}

struct candidate {
	uint32_t fit, old, new;
};

/* The best fit comes first, and of equal ones the lowest indices. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->fit != y->fit)
		return x->fit > y->fit ? -1 : 1;
	if (x->old != y->old)
		return x->old < y->old ? -1 : 1;
	return (x->new > y->new) - (x->new < y->new);
}

static void join(struct pairing *pairing, uint32_t old, uint32_t new)
{
	pairing->old_of[new] = old;
	pairing->new_of[old] = new;
}

static void pair_by_name(struct pairing *pairing)
{
	for (uint32_t old = 0; old < pairing->before->count; old++) {
		uint32_t new = table_namesake(pairing->before, old, pairing->after);

		if (new != TABLE_NONE)
			join(pairing, old, new);
	}
}

/* Pairs the free tables, those that fit best first. candidates: room for all pairs. */
static void pair_by(struct pairing *pairing, fit_fn *fit, struct candidate *candidates)
{
	size_t count = 0;

	for (uint32_t old = 0; old < pairing->before->count; old++) {
		for (uint32_t new = 0; pairing->new_of[old] == TABLE_NONE &&new < pairing->after->count; new ++) {
			uint32_t fits = pairing->old_of[new] == TABLE_NONE ? fit(pairing, old, new) : 0;

			if (fits)
				candidates[count++] = (struct candidate){fits, old, new};
		}
	}
	qsort(candidates, count, sizeof(*candidates), compare_candidates);
	for (size_t i = 0; i < count; i++) {
		uint32_t old = candidates[i].old, new = candidates[i].new;

		if (pairing->new_of[old] != TABLE_NONE || pairing->old_of[new] != TABLE_NONE)
			continue;
		join(pairing, old, new);
	}
}

static void find_fates(const struct table_set *set, const struct bind_fate *fates, const struct bind_fate **tables)
{
	for (uint32_t i = 0; i < set->count; i++) {
		tables[i] = fates;
		fates += set->tables[i].bind_count;
	}
}

static struct table_diff make_pair(const struct pairing *pairing, uint32_t old, uint32_t new)
{
	struct table_diff pair = {0};

	if (old != TABLE_NONE) {
		pair.before = &pairing->before->tables[old];
		pair.old_index = old;
		pair.old_fates = pairing->old_fates[old];
	}
	if (new != TABLE_NONE) {
		pair.after = &pairing->after->tables[new];
		pair.new_index = new;
		pair.new_fates = pairing->new_fates[new];
	}
	return pair;
}

uint32_t table_pairs(const struct table_set *before, const struct table_set *after, const struct bind_diff *binds,
	struct table_diff *pairs)
{
	static fit_fn *const steps[] = {fit_binds, fit_keys, fit_indexes};
	struct pairing pairing = {.before = before, .after = after};
	struct candidate *candidates = alloc_zeroed((size_t)before->count * after->count, sizeof(*candidates));
	uint32_t count = 0;

	memset(pairing.old_of, 0xff, sizeof(pairing.old_of));
	memset(pairing.new_of, 0xff, sizeof(pairing.new_of));
	find_fates(before, binds->fates[0], pairing.old_fates);
	find_fates(after, binds->fates[1], pairing.new_fates);
	pair_by_name(&pairing);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		pair_by(&pairing, steps[i], candidates);
	free(candidates);
	for (uint32_t i = 0; i < after->count; i++)
		pairs[count++] = make_pair(&pairing, pairing.old_of[i], i);
	for (uint32_t i = 0; i < before->count; i++)
		if (pairing.new_of[i] == TABLE_NONE)
			pairs[count++] = make_pair(&pairing, i, TABLE_NONE);
	return count;
}
