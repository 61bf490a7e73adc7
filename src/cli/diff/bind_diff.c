/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Let a packet's address be ever lower. The first binds of the two sets for it change only where a bind begins, or just
 * after one ends. So each pair of first binds that some packet has is one that a packet has to the first address of a
 * prefix, or to the one after its last address, and to a port of this prefix. The classifiers know the first binds, and
 * up to which port they stay the same.
 */
#include "cli/diff/bind_diff.h"

#include <stdlib.h>

#include "cli/alloc.h"
#include "cli/progress.h"
#include "common/array.h"
#include "table/classify.h"

/* The old set (0) and the new one (1). */
struct comparison {
	const struct table_set *sets[2];
	struct classifier *classifiers[2];
	struct bind_fate *fates[2][TABLE_MAX_TABLES]; /* those of each table's binds */
};

/* Notes that the same packets belong to both binds, which may be CLASSIFY_NONE. */
static void note(const struct comparison *comparison, const int binds[2])
{
	for (int side = 0; side < 2; side++) {
		int own = binds[side], other = binds[!side];
		struct bind_fate *fate;

		if (own == CLASSIFY_NONE)
			continue;
		fate = &comparison->fates[side][classify_table(own)][classify_bind(own)];
		if (other == CLASSIFY_NONE)
			fate->nowhere = true;
		else
			table_mask_add(&fate->tables, (uint32_t)classify_table(other));
	}
}

/* Returns the first bind for a port, of the prefix and those around it. Lowers *end to a port up to which it is the
 * first one. */
static int first_bind(
	const struct classifier *classifier, uint32_t prefix, unsigned protocol, uint32_t port, uint32_t *end)
{
	uint32_t first = UINT32_MAX;

	while (prefix != CLASSIFY_NO_PREFIX) {
		struct classify_prefix at = classify_prefix_at(classifier, prefix);
		const struct classify_bind_range *range, *last = at.binds[protocol] + at.bind_counts[protocol];
		uint32_t low;

		ARRAY_BISECT(low, at.bind_counts[protocol], at.binds[protocol][low].end < port);
		range = at.binds[protocol] + low;
		if (range < last && range->start <= port && range->number < first) {
			first = range->number;
			*end = range->end < *end ? range->end : *end;
		}
		while (range < last && range->start <= *end && range->number >= first)
			range++;
		if (range < last && range->start <= *end)
			*end = range->start - 1u;
		prefix = at.parent;
	}
	return first == UINT32_MAX ? CLASSIFY_NONE : (int)first;
}

/* Compares the first binds for packets to an address, and to the ports of a prefix. */
static void compare_at(
	const struct comparison *comparison, const struct netaddr *addr, const struct classify_prefix *prefix)
{
	uint32_t at[2];

	for (int side = 0; side < 2; side++)
		at[side] = classify_prefix_of(comparison->classifiers[side], addr);
	for (unsigned protocol = 0; protocol < 2; protocol++) {
		for (uint32_t i = 0; i < prefix->bind_counts[protocol]; i++) {
			const struct classify_bind_range *range = &prefix->binds[protocol][i];

			for (uint32_t port = range->start, end; port <= range->end; port = end + 1) {
				int binds[2];

				end = range->end;
				for (int side = 0; side < 2; side++)
					binds[side] = first_bind(
						comparison->classifiers[side], at[side], protocol, port, &end);
				note(comparison, binds);
			}
		}
	}
}

/* Sets *next to the first address after the prefix. False: there is none. */
static bool find_next(const struct netprefix *prefix, struct netaddr *next)
{
	*next = prefix->addr;
	for (unsigned bit = prefix->length; bit-- > 0;) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		next->bytes[bit / 8] ^= mask;
		if (next->bytes[bit / 8] & mask)
			return true;
	}
	return false;
}

static void compare_around(const struct comparison *comparison, int side)
{
	const struct classifier *classifier = comparison->classifiers[side];
	uint32_t count = classify_prefix_count(classifier);

	for (uint32_t i = 0; i < count; i++) {
		struct classify_prefix prefix = classify_prefix_at(classifier, i);
		struct netaddr next;

		progress(side ? "compared new prefixes" : "compared old prefixes", i, count);
		if (prefix.prefix.addr.family == NETADDR_NONE)
			continue;
		compare_at(comparison, &prefix.prefix.addr, &prefix);
		if (find_next(&prefix.prefix, &next))
			compare_at(comparison, &next, &prefix);
	}
}

void bind_diff_create(struct bind_diff *diff, const struct table_set *before, const struct table_set *after)
{
	struct comparison comparison = {.sets = {before, after}};

	for (int side = 0; side < 2; side++) {
		const struct table_set *set = comparison.sets[side];
		struct bind_fate *fates = alloc_zeroed(table_set_totals(set).binds, sizeof(*fates));

		diff->fates[side] = fates;
		for (uint32_t t = 0; t < set->count; fates += set->tables[t++].bind_count)
			comparison.fates[side][t] = fates;
		comparison.classifiers[side] = classify_build(set);
		alloc_check(comparison.classifiers[side] != NULL);
	}
	for (int side = 0; side < 2; side++)
		compare_around(&comparison, side);
	for (int side = 0; side < 2; side++)
		classify_free(comparison.classifiers[side]);
}

void bind_diff_free(struct bind_diff *diff)
{
	for (int side = 0; side < 2; side++)
		free(diff->fates[side]);
	*diff = (struct bind_diff){0};
}
