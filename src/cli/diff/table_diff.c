/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/table_diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain.h"
#include "cli/diff/table_pairs.h"

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

/* Returns true if `a` comes before `b` in the natural order of the row. */
static bool is_natural_order(
	const uint8_t *seed, uint32_t row, const struct table_backend *a, const struct table_backend *b)
{
	struct table_rank a_rank = explain_rank(seed, (uint16_t)row, a), b_rank = explain_rank(seed, (uint16_t)row, b);

	return !table_rank_before(&b_rank, &a_rank);
}

static bool is_zero(const uint8_t seed[SIPHASH_KEY_SIZE])
{
	static const uint8_t zero[SIPHASH_KEY_SIZE];

	return memcmp(seed, zero, SIPHASH_KEY_SIZE) == 0;
}

/* Good backends keep their natural order in a row. Returns true if all rows, and enough of them, confirm the seed. */
static bool seed_made(const struct table *table, const uint8_t *seed)
{
	uint32_t confirmed = 0;

	for (uint32_t row = 0; row < TABLE_ROWS && table->row_hops > 1; row++) {
		const uint16_t *hops = table->rows + (size_t)row * table->row_hops;
		const struct table_backend *first = &table->backends[hops[0]], *second = &table->backends[hops[1]];

		if (hops[0] == hops[1] || !table_backend_is_good(first) || !table_backend_is_good(second))
			continue;
		if (!is_natural_order(seed, row, first, second))
			return false;
		confirmed++;
	}
	return confirmed >= 64;
}

/* Returns the seed of the old rows, or NULL. A binary table does not have it, but its JSON successor mostly does. */
static const uint8_t *find_seed(const struct table *before, const struct table *after)
{
	if (!is_zero(before->seed))
		return before->seed;
	return after && !is_zero(after->seed) && seed_made(before, after->seed) ? after->seed : NULL;
}

struct rows {
	struct table_diff *diff;
	const uint8_t *seed; /* of the old rows; NULL: not known */
	uint32_t old_map[TABLE_MAX_BACKENDS], new_map[TABLE_MAX_BACKENDS];
	uint32_t broken; /* of the connections of a bind that stays */
};

/*
 * The old first hop of the row is in the new row. A good later hop has no connections, unless they are older than the
 * old table. One that is not good has those from the time when it was first: if the natural order is known, this is
 * only possible if it comes before the first hop.
 */
static void compare_later_hops(struct rows *rows, uint32_t row)
{
	struct table_diff *diff = rows->diff;
	const struct table *before = diff->before;
	const uint16_t *hops = before->rows + (size_t)row * before->row_hops;
	bool broken = false, at_risk = false;

	for (unsigned hop = 1; hop < before->row_hops; hop++) {
		const struct table_backend *backend = &before->backends[hops[hop]];
		uint32_t index = rows->old_map[hops[hop]];

		if (hops[hop] == hops[0] || row_has(diff->after, row, rows->new_map, index))
			continue;
		at_risk = true;
		if (table_backend_is_good(backend) ||
			(rows->seed && !is_natural_order(rows->seed, row, backend, &before->backends[hops[0]])))
			continue;
		diff->backends[index].still_reached++;
		broken = true;
	}
	rows->broken += broken;
	diff->at_risk += at_risk && !broken;
}

static void compare_rows(struct rows *rows)
{
	struct table_diff *diff = rows->diff;
	const struct table *before = diff->before, *after = diff->after;

	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		uint32_t old_first = UINT32_MAX, new_first = UINT32_MAX;

		if (before)
			old_first = rows->old_map[before->rows[(size_t)row * before->row_hops]];
		if (after)
			new_first = rows->new_map[after->rows[(size_t)row * after->row_hops]];
		if (before)
			diff->backends[old_first].first_before++;
		if (after)
			diff->backends[new_first].first_after++;
		if (before && old_first != new_first)
			diff->backends[old_first].lost++;
		if (after && old_first != new_first)
			diff->backends[new_first].gained++;
		diff->changed += before && (old_first != new_first || diff->key_changed);
		if (before && (!after || diff->key_changed || !row_has(after, row, rows->new_map, old_first)))
			rows->broken++;
		else if (before)
			compare_later_hops(rows, row);
	}
}

/* Compares diff->before and diff->after. Sets *broken to the number of rows that break for a bind that has moved from
 * the one to the other. Returns false if out of memory. */
static bool compare_tables(struct table_diff *diff, uint32_t *broken)
{
	const struct table *before = diff->before, *after = diff->after;
	struct rows *rows = calloc(1, sizeof(*rows));
	bool joined = rows && join_backends(diff);

	if (joined) {
		diff->key_changed = before && after && memcmp(before->hash_key, after->hash_key, SIPHASH_KEY_SIZE) != 0;
		rows->diff = diff;
		rows->seed = before ? find_seed(before, after) : NULL;
		diff->seed_known = rows->seed;
		map_backends(diff, rows->old_map, rows->new_map);
		compare_rows(rows);
		*broken = rows->broken;
	}
	free(rows);
	return joined;
}

/* The changes of an old table's rows, for the packets that go to table i of the new set. */
struct outcomes {
	uint32_t changed[TABLE_MAX_TABLES], broken[TABLE_MAX_TABLES];
};

/* Fills the outcomes of the tables other than diff->after that get packets of the old table. */
static bool compare_moves(const struct table_diff *diff, const struct table_set *after, struct outcomes *outcomes)
{
	uint64_t tables = 0;

	for (uint32_t i = 0; i < diff->before->bind_count; i++)
		tables |= diff->old_fates[i].tables;
	for (uint32_t i = 0; i < after->count; i++) {
		struct table_diff move = {.before = diff->before, .after = &after->tables[i]};
		bool done;

		if (!(tables >> i & 1) || move.after == diff->after)
			continue;
		done = compare_tables(&move, &outcomes->broken[i]);
		outcomes->changed[i] = move.changed;
		free(move.backends);
		if (!done)
			return false;
	}
	return true;
}

/* Returns the mean over the binds of the old table, rounded up. The worst fate of a bind counts. */
static uint32_t mean_over_binds(const struct table_diff *diff, const uint32_t *rows)
{
	uint64_t sum = 0, binds = 0;

	for (uint32_t i = 0; i < diff->before->bind_count; i++) {
		const struct bind_fate *fate = &diff->old_fates[i];
		uint32_t most = fate->nowhere ? TABLE_ROWS : 0;

		for (uint32_t to = 0; to < TABLE_MAX_TABLES; to++)
			if (fate->tables >> to & 1 && rows[to] > most)
				most = rows[to];
		binds += fate->tables || fate->nowhere;
		sum += most;
	}
	return binds ? (uint32_t)((sum + binds - 1) / binds) : 0;
}

static bool gets_packets(const struct table_diff *diff)
{
	for (uint32_t i = 0; i < diff->before->bind_count; i++)
		if (diff->old_fates[i].tables || diff->old_fates[i].nowhere)
			return true;
	return false;
}

static bool compare(struct table_diff *diff, const struct table_set *after)
{
	struct outcomes outcomes = {{0}, {0}};
	uint32_t broken;

	if (!compare_tables(diff, &broken))
		return false;
	if (!diff->before)
		return true;
	if (diff->after) {
		outcomes.changed[diff->new_index] = diff->changed;
		outcomes.broken[diff->new_index] = broken;
	}
	if (!compare_moves(diff, after, &outcomes))
		return false;
	diff->rows = gets_packets(diff) ? TABLE_ROWS : 0;
	diff->at_risk = diff->rows ? diff->at_risk : 0;
	diff->changed = mean_over_binds(diff, outcomes.changed);
	diff->broken = mean_over_binds(diff, outcomes.broken);
	return true;
}

static void add_totals(struct table_set_diff *diff, const struct table_diff *table)
{
	diff->rows += table->rows;
	diff->changed += table->changed;
	diff->broken += table->broken;
	diff->at_risk += table->at_risk;
}

bool table_set_diff_create(struct table_set_diff *diff, const struct table_set *before, const struct table_set *after)
{
	bool done = true;

	*diff = (struct table_set_diff){.tables = calloc(before->count + after->count + 1, sizeof(*diff->tables))};
	done = diff->tables && bind_diff_create(&diff->binds, before, after);
	if (done)
		diff->count = table_pairs(before, after, &diff->binds, diff->tables);
	for (uint32_t i = 0; done && i < diff->count; i++) {
		done = compare(&diff->tables[i], after);
		add_totals(diff, &diff->tables[i]);
	}
	if (!done)
		table_set_diff_free(diff);
	return done;
}

void table_set_diff_free(struct table_set_diff *diff)
{
	for (uint32_t i = 0; i < diff->count; i++)
		free(diff->tables[i].backends);
	free(diff->tables);
	bind_diff_free(&diff->binds);
	*diff = (struct table_set_diff){0};
}

bool table_set_diff_select(struct table_set_diff *diff, const char *text)
{
	for (uint32_t i = 0; i < diff->count && !diff->only; i++) {
		const struct table_diff *table = &diff->tables[i];
		const char *name = table_diff_name(table);

		if (name && strcmp(name, text) == 0)
			diff->only = table;
	}
	for (uint32_t i = 0; i < diff->count && !diff->only; i++) {
		char index[16];

		snprintf(index, sizeof(index), "#%u", (unsigned)diff->tables[i].new_index);
		if (diff->tables[i].after && strcmp(index, text) == 0)
			diff->only = &diff->tables[i];
	}
	if (!diff->only)
		return false;
	diff->rows = diff->changed = diff->broken = diff->at_risk = 0;
	add_totals(diff, diff->only);
	return true;
}

const char *table_diff_name(const struct table_diff *table)
{
	const char *name = table->after ? table->after->name : NULL;

	return name || !table->before ? name : table->before->name;
}

const char *table_diff_label(const struct table_diff *table, char buf[16])
{
	const char *name = table_diff_name(table);

	if (name)
		return name;
	snprintf(buf, 16, "#%u", (unsigned)(table->after ? table->new_index : table->old_index));
	return buf;
}
