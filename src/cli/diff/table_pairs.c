/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/table_pairs.h"

#include <string.h>

#define NONE UINT32_MAX

struct pairing {
	const struct table_set *before, *after;
	uint32_t old_of[TABLE_MAX_TABLES],
		new_of[TABLE_MAX_TABLES]; /* partner of new table i, and of old table i; or NONE */
	const struct bind_fate *old_fates[TABLE_MAX_TABLES], *new_fates[TABLE_MAX_TABLES];
};

/* Returns how well the old and the new table fit; 0: not at all. */
typedef uint32_t fit_fn(const struct pairing *pairing, uint32_t old, uint32_t new);

static bool has_name_once(const struct table_set *set, const char *name)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < set->count; i++)
		count += set->tables[i].name && strcmp(set->tables[i].name, name) == 0;
	return count == 1;
}

static uint32_t fit_names(const struct pairing *pairing, uint32_t old, uint32_t new)
{
	const char *a = pairing->before->tables[old].name, *b = pairing->after->tables[new].name;

	return a && b && strcmp(a, b) == 0 && has_name_once(pairing->before, a) && has_name_once(pairing->after, a);
}

static uint32_t fit_binds(const struct pairing *pairing, uint32_t old, uint32_t new)
{
	uint32_t shared = 0;

	for (uint32_t i = 0; i < pairing->before->tables[old].bind_count; i++)
		shared += pairing->old_fates[old][i].tables >> new & 1;
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

/* Pairs the free tables, those that fit best first. */
static void pair_by(struct pairing *pairing, fit_fn *fit)
{
	uint32_t fits[TABLE_MAX_TABLES][TABLE_MAX_TABLES] = {{0}}, old, new;

	for (old = 0; old < pairing->before->count; old++)
		for (new = 0; new < pairing->after->count; new ++)
			if (pairing->new_of[old] == NONE && pairing->old_of[new] == NONE)
				fits[old][new] = fit(pairing, old, new);
	for (;;) {
		uint32_t best = 0, best_old = 0, best_new = 0;

		for (old = 0; old < pairing->before->count; old++) {
			for (new = 0; new < pairing->after->count; new ++) {
				bool free = pairing->new_of[old] == NONE && pairing->old_of[new] == NONE;

				if (!free || fits[old][new] <= best)
					continue;
				best = fits[old][new];
				best_old = old;
				best_new = new;
			}
		}
		if (best == 0)
			return;
		pairing->old_of[best_new] = best_old;
		pairing->new_of[best_old] = best_new;
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

	if (old != NONE) {
		pair.before = &pairing->before->tables[old];
		pair.old_index = old;
		pair.old_fates = pairing->old_fates[old];
	}
	if (new != NONE) {
		pair.after = &pairing->after->tables[new];
		pair.new_index = new;
		pair.new_fates = pairing->new_fates[new];
	}
	return pair;
}

uint32_t table_pairs(const struct table_set *before, const struct table_set *after, const struct bind_diff *binds,
	struct table_diff *pairs)
{
	static fit_fn *const steps[] = {fit_names, fit_binds, fit_keys, fit_indexes};
	struct pairing pairing = {.before = before, .after = after};
	uint32_t count = 0;

	memset(pairing.old_of, 0xff, sizeof(pairing.old_of));
	memset(pairing.new_of, 0xff, sizeof(pairing.new_of));
	find_fates(before, binds->fates[0], pairing.old_fates);
	find_fates(after, binds->fates[1], pairing.new_fates);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		pair_by(&pairing, steps[i]);
	for (uint32_t i = 0; i < after->count; i++)
		pairs[count++] = make_pair(&pairing, pairing.old_of[i], i);
	for (uint32_t i = 0; i < before->count; i++)
		if (pairing.new_of[i] == NONE)
			pairs[count++] = make_pair(&pairing, i, NONE);
	return count;
}
