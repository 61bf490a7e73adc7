/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/table_diff.h"

#include <stdlib.h>
#include <string.h>

static bool names_are_distinct(const struct table_set *set)
{
	for (uint32_t i = 0; i < set->count; i++) {
		if (!set->tables[i].name)
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(set->tables[i].name, set->tables[j].name) == 0)
				return false;
	}
	return true;
}

/* Returns the index in `set` of the partner of `table`, which has `index` in the other set, or set->count. */
static uint32_t find_partner(const struct table_set *set, const struct table *table, uint32_t index, bool by_name)
{
	uint32_t i = 0;

	if (!by_name)
		return index < set->count ? index : set->count;
	while (i < set->count && strcmp(set->tables[i].name, table->name) != 0)
		i++;
	return i;
}

uint32_t table_diff_pair(const struct table_set *before, const struct table_set *after, struct table_diff *pairs)
{
	bool by_name = names_are_distinct(before) && names_are_distinct(after);
	uint32_t count = 0;

	for (uint32_t i = 0; i < after->count; i++) {
		uint32_t old = find_partner(before, &after->tables[i], i, by_name);

		pairs[count++] = (struct table_diff){
			.before = old < before->count ? &before->tables[old] : NULL,
			.after = &after->tables[i],
			.index = i,
		};
	}
	for (uint32_t i = 0; i < before->count; i++)
		if (find_partner(after, &before->tables[i], i, by_name) == after->count)
			pairs[count++] = (struct table_diff){.before = &before->tables[i], .index = i};
	return count;
}

static int compare_backends(const void *a, const void *b)
{
	return netaddr_compare(
		&((const struct table_diff_backend *)a)->addr, &((const struct table_diff_backend *)b)->addr);
}

/* Sets diff->backends to the backends of both tables, each once. */
static bool join_backends(struct table_diff *diff)
{
	const struct table *before = diff->before, *after = diff->after;
	uint32_t old = before ? before->backend_count : 0, new = after ? after->backend_count : 0;
	struct table_diff_backend *all = calloc(old + new + 1, sizeof(*all));
	uint32_t count = 0;

	if (!all)
		return false;
	for (uint32_t i = 0; i < old; i++)
		all[i] = (struct table_diff_backend){.addr = before->backends[i].addr, .before = &before->backends[i]};
	for (uint32_t i = 0; i < new; i++)
		all[old + i] = (struct table_diff_backend){.addr = after->backends[i].addr, .after = &after->backends[i]};
	qsort(all, old + new, sizeof(*all), compare_backends);
	for (uint32_t i = 0; i < old + new; i++) {
		if (count && netaddr_compare(&all[count - 1].addr, &all[i].addr) == 0) {
			if (all[i].before)
				all[count - 1].before = all[i].before;
			else
				all[count - 1].after = all[i].after;
		} else {
			all[count++] = all[i];
		}
	}
	diff->backends = all;
	diff->backend_count = count;
	return true;
}

/* Sets before[i] and after[i] to the index in diff->backends of backend i of the old and the new table. */
static void map_backends(const struct table_diff *diff, uint32_t *before, uint32_t *after)
{
	for (uint32_t i = 0; i < diff->backend_count; i++) {
		const struct table_diff_backend *backend = &diff->backends[i];

		if (backend->before)
			before[backend->before - diff->before->backends] = i;
		if (backend->after)
			after[backend->after - diff->after->backends] = i;
	}
}

static bool row_has(const struct table *table, uint32_t row, const uint32_t *map, uint32_t backend)
{
	for (unsigned hop = 0; hop < table->row_hops; hop++)
		if (map[table->rows[(size_t)row * table->row_hops + hop]] == backend)
			return true;
	return false;
}

static void compare_rows(struct table_diff *diff, const uint32_t *old_map, const uint32_t *new_map)
{
	const struct table *before = diff->before, *after = diff->after;

	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		uint32_t old_first = UINT32_MAX, new_first = UINT32_MAX;

		if (before)
			old_first = old_map[before->rows[(size_t)row * before->row_hops]];
		if (after)
			new_first = new_map[after->rows[(size_t)row * after->row_hops]];
		if (before)
			diff->backends[old_first].first_before++;
		if (after)
			diff->backends[new_first].first_after++;
		if (before && old_first != new_first)
			diff->backends[old_first].lost++;
		if (after && old_first != new_first)
			diff->backends[new_first].gained++;
		diff->changed += before && (old_first != new_first || diff->key_changed);
		diff->broken += before && (!after || diff->key_changed || !row_has(after, row, new_map, old_first));
	}
}

static bool same_binds(const struct table *a, const struct table *b)
{
	if (a->bind_count != b->bind_count)
		return false;
	for (uint32_t i = 0; i < a->bind_count; i++) {
		const struct table_bind *x = &a->binds[i], *y = &b->binds[i];

		if (netaddr_compare(&x->prefix.addr, &y->prefix.addr) != 0 || x->prefix.length != y->prefix.length ||
			x->protocol != y->protocol || x->port_start != y->port_start || x->port_end != y->port_end)
			return false;
	}
	return true;
}

bool table_diff_compare(struct table_diff *diff)
{
	const struct table *before = diff->before, *after = diff->after;
	uint32_t *maps = calloc(2 * TABLE_MAX_BACKENDS, sizeof(*maps));
	bool joined = maps && join_backends(diff);

	if (joined) {
		diff->key_changed = before && after && memcmp(before->hash_key, after->hash_key, SIPHASH_KEY_SIZE) != 0;
		diff->binds_changed = before && after && !same_binds(before, after);
		map_backends(diff, maps, maps + TABLE_MAX_BACKENDS);
		compare_rows(diff, maps, maps + TABLE_MAX_BACKENDS);
	}
	free(maps);
	return joined;
}

void table_diff_free(struct table_diff *diff)
{
	free(diff->backends);
}
