/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/table_diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "cli/diff/first_holders.h"
#include "cli/diff/table_pairs.h"
#include "cli/progress.h"
#include "table/rows/table_build.h"
#include "table/table_share.h"

static int compare_backends(const void *a, const void *b)
{
	return netaddr_compare(
		&((const struct table_diff_backend *)a)->addr, &((const struct table_diff_backend *)b)->addr);
}

/* Sets diff->backends to the backends of both tables, each once. */
static void join_backends(struct table_diff *diff)
{
	const struct table *before = diff->before, *after = diff->after;
	uint32_t old = before ? before->backend_count : 0, new = after ? after->backend_count : 0;
	struct table_diff_backend *all = alloc_zeroed(old + new, sizeof(*all));
	uint32_t count = 0;

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
}

/* The rows of an old table that change and break, for the packets that go to each table of the new set. */
struct outcomes {
	uint32_t changed[TABLE_MAX_TABLES], broken[TABLE_MAX_TABLES], skew[TABLE_MAX_TABLES];
	uint32_t causes[TABLE_MAX_TABLES][TABLE_DIFF_CAUSES];
};

/* The comparison of an old table with one table of the new set. One of both may be NULL. */
struct rows {
	struct table_diff *diff;
	struct holders *held; /* of the old table */
	struct holders *left; /* the connections that do not break go here; NULL: not needed */
	struct holders_table before, after;
	uint32_t *index; /* by number of a proxy: its index in diff->backends */
	uint32_t broken, skew, causes[TABLE_DIFF_CAUSES]; /* of the connections of a bind that stays */
};

/* Returns the backend of a proxy. Whoever holds connections of an old table is a backend of this table. */
static struct table_diff_backend *backend_of(const struct rows *rows, uint32_t proxy)
{
	return &rows->diff->backends[rows->index[proxy]];
}

/* Returns the cause why the connections of the proxy break, or TABLE_DIFF_CAUSES: they do not. */
static enum table_diff_cause find_cause(const struct rows *rows, uint32_t row, uint32_t proxy)
{
	if (!rows->diff->after)
		return TABLE_DIFF_UNMATCHED;
	if (rows->diff->key_changed)
		return TABLE_DIFF_HASH_KEY;
	switch (holders_reach(&rows->after, row, proxy)) {
	case HOLDERS_GONE:
		return TABLE_DIFF_REMOVED;
	case HOLDERS_PUSHED_OUT:
		return TABLE_DIFF_PUSHED_OUT;
	default:
		return TABLE_DIFF_CAUSES;
	}
}

static void keep(const struct rows *rows, uint32_t row, uint32_t proxy)
{
	if (rows->left)
		holders_add(rows->left, row, holders_number(rows->left, &rows->held->proxies[proxy]));
}

/* Compares the proxies that hold connections of the row. */
static void compare_holders(struct rows *rows, uint32_t row)
{
	const uint32_t *holders = holders_of(rows->held, row);
	uint32_t first = holders_first(&rows->before, row);
	enum table_diff_cause worst = TABLE_DIFF_CAUSES;
	bool first_reached = find_cause(rows, row, first) == TABLE_DIFF_CAUSES;

	for (uint32_t i = 0; i < rows->held->counts[row]; i++) {
		enum table_diff_cause cause = find_cause(rows, row, holders[i]);
		struct table_diff_backend *backend = backend_of(rows, holders[i]);
		bool breaks = cause != TABLE_DIFF_CAUSES;

		backend->held++;
		backend->broken += breaks;
		backend->still_reached += breaks && first_reached;
		worst = cause < worst ? cause : worst;
		if (!breaks)
			keep(rows, row, holders[i]);
	}
	if (worst != TABLE_DIFF_CAUSES) {
		rows->broken++;
		rows->causes[worst]++;
		return;
	}
	/* The other later hops have connections only if these are older than the old table. */
	for (unsigned hop = 1; hop < rows->before.table->row_hops; hop++) {
		uint32_t backend = rows->before.table->rows[(size_t)row * rows->before.table->row_hops + hop];

		if (holders_reach(&rows->after, row, rows->before.proxies[backend]) != HOLDERS_REACHED) {
			rows->diff->at_risk++;
			break;
		}
	}
}

static void compare_row(struct rows *rows, uint32_t row)
{
	const struct table *before = rows->diff->before, *after = rows->diff->after;
	uint32_t old_first = before ? holders_first(&rows->before, row) : UINT32_MAX;
	uint32_t new_first = after ? holders_first(&rows->after, row) : UINT32_MAX;

	if (before)
		backend_of(rows, old_first)->first_before++;
	if (after)
		backend_of(rows, new_first)->first_after++;
	if (before && old_first != new_first)
		backend_of(rows, old_first)->lost++;
	if (after && old_first != new_first)
		backend_of(rows, new_first)->gained++;
	if (!before)
		return;
	rows->diff->changed += old_first != new_first || rows->diff->key_changed;
	rows->skew +=
		after && (rows->diff->key_changed || holders_reach(&rows->before, row, new_first) != HOLDERS_REACHED);
	compare_holders(rows, row);
}

/* Names the proxies of both tables, and sets rows->index. */
static void open_tables(struct rows *rows)
{
	const struct table *before = rows->diff->before, *after = rows->diff->after;

	if (before)
		holders_table_open(rows->held, before, &rows->before);
	if (after)
		holders_table_open(rows->held, after, &rows->after);
	rows->index = alloc_zeroed(rows->held->proxy_count, sizeof(*rows->index));
	for (uint32_t i = 0; i < rows->diff->backend_count; i++) {
		const struct table_diff_backend *backend = &rows->diff->backends[i];

		if (backend->before)
			rows->index[rows->before.proxies[backend->before - before->backends]] = i;
		else
			rows->index[rows->after.proxies[backend->after - after->backends]] = i;
	}
}

/* Compares diff->before and diff->after, which is table `to` of the new set. Fills the outcome for a bind that has
 * moved from the one to the other. */
static void compare_tables(
	struct table_diff *diff, struct holders *held, struct holders *left, struct outcomes *outcomes, uint32_t to)
{
	const struct table *before = diff->before, *after = diff->after;
	struct rows rows = {.diff = diff, .held = held, .left = left};

	diff->key_changed = before && after && memcmp(before->hash_key, after->hash_key, SIPHASH_KEY_SIZE) != 0;
	join_backends(diff);
	if (before && after && (!before->rows || !after->rows))
		return; /* nothing changes, see table_set_diff_build() */
	open_tables(&rows);
	for (uint32_t row = 0; row < TABLE_ROWS; row++)
		compare_row(&rows, row);
	outcomes->changed[to] = diff->changed;
	outcomes->broken[to] = rows.broken;
	outcomes->skew[to] = rows.skew;
	memcpy(outcomes->causes[to], rows.causes, sizeof(rows.causes));
	holders_table_close(&rows.before);
	holders_table_close(&rows.after);
	free(rows.index);
}

/* The comparison of an old table with all tables of the new set. */
struct comparison {
	struct table_diff *diff;
	const struct table_set *after;
	struct holders *held; /* of the old table */
	struct holders *left; /* by new table, or NULL */
	struct outcomes *outcomes;
};

/* Returns where the connections of table `to` go that do not break. NULL: they are not needed. */
static struct holders *left_of(const struct comparison *comparison, uint32_t to)
{
	struct holders *left = comparison->left ? &comparison->left[to] : NULL;

	return left && left->list ? left : NULL;
}

/* Fills the outcomes of the tables other than diff->after that get packets of the old table. */
static void compare_moves(const struct comparison *comparison)
{
	const struct table_diff *diff = comparison->diff;
	struct table_mask tables = {0};

	for (uint32_t i = 0; i < diff->before->bind_count; i++)
		table_mask_merge(&tables, &diff->old_fates[i].tables);
	for (uint32_t i = table_mask_next(&tables, 0); i < comparison->after->count; i = table_mask_next(&tables, i + 1)) {
		struct table_diff move = {.before = diff->before, .after = &comparison->after->tables[i]};

		if (move.after == diff->after)
			continue;
		compare_tables(&move, comparison->held, left_of(comparison, i), comparison->outcomes, i);
		free(move.backends);
	}
}

/* Returns the table of the new set that breaks the most rows of a bind, or UINT32_MAX: no packet matches the bind. */
static uint32_t find_worst(const struct bind_fate *fate, const struct outcomes *outcomes)
{
	uint32_t worst = UINT32_MAX;

	for (uint32_t to = table_mask_next(&fate->tables, 0); to < TABLE_MAX_TABLES;
		to = table_mask_next(&fate->tables, to + 1))
		if (worst == UINT32_MAX || outcomes->broken[to] > outcomes->broken[worst])
			worst = to;
	return worst;
}

/* UDP flows of the bind follow the first hop. Those of QUIC keep their proxy while NEW has what their connection IDs
 * were made with. */
static bool follows_first_hop(const struct table_diff *diff, const struct table_bind *bind)
{
	bool kept = bind->quic;

	for (uint32_t i = 0; i < diff->before->quic_count; i++)
		kept &= !table_quic_change(diff->before, diff->after, diff->before->quic[i].id);
	return bind->protocol == TABLE_UDP && !kept;
}

static bool bind_gets_packets(const struct bind_fate *fate)
{
	return fate->nowhere || table_mask_any(&fate->tables);
}

/* Returns the mean over the binds of the old table, rounded up. The worst fate of a bind counts. nowhere: the rows of a
 * bind that no table matches. udp: only UDP binds count. */
static uint32_t mean_over_binds(const struct table_diff *diff, const uint32_t *rows, uint32_t nowhere, bool udp)
{
	uint64_t sum = 0, binds = 0;

	for (uint32_t i = 0; i < diff->before->bind_count; i++) {
		const struct bind_fate *fate = &diff->old_fates[i];
		uint32_t most = fate->nowhere ? nowhere : 0, to = table_mask_next(&fate->tables, 0);

		if (udp && !follows_first_hop(diff, &diff->before->binds[i]))
			continue;
		binds += bind_gets_packets(fate);
		for (; to < TABLE_MAX_TABLES; to = table_mask_next(&fate->tables, to + 1))
			if (rows[to] > most)
				most = rows[to];
		sum += most;
	}
	return binds ? (uint32_t)((sum + binds - 1) / binds) : 0;
}

/* Sets diff->causes to the means over the binds. Their sum is diff->broken. */
static void add_causes(struct table_diff *diff, const struct outcomes *outcomes)
{
	uint64_t sums[TABLE_DIFF_CAUSES] = {0}, binds = 0;
	uint32_t left = diff->broken;

	for (uint32_t i = 0; i < diff->before->bind_count; i++) {
		const struct bind_fate *fate = &diff->old_fates[i];
		uint32_t worst = find_worst(fate, outcomes);

		binds += bind_gets_packets(fate);
		if (fate->nowhere)
			sums[TABLE_DIFF_UNMATCHED] += TABLE_ROWS;
		for (unsigned cause = 0; worst != UINT32_MAX && !fate->nowhere && cause < TABLE_DIFF_CAUSES; cause++)
			sums[cause] += outcomes->causes[worst][cause];
	}
	for (unsigned cause = 0; cause < TABLE_DIFF_CAUSES && binds; cause++) {
		uint32_t rows = (uint32_t)((sums[cause] + binds - 1) / binds);

		diff->causes[cause] = rows < left ? rows : left;
		left -= diff->causes[cause];
	}
}

static bool gets_packets(const struct table_diff *diff)
{
	for (uint32_t i = 0; i < diff->before->bind_count; i++)
		if (bind_gets_packets(&diff->old_fates[i]))
			return true;
	return false;
}

static void compare_all(const struct comparison *comparison)
{
	struct table_diff *diff = comparison->diff;
	struct holders *left = diff->after ? left_of(comparison, diff->new_index) : NULL;
	struct outcomes *outcomes = comparison->outcomes;

	compare_tables(diff, comparison->held, left, outcomes, diff->new_index);
	if (!diff->before)
		return;
	compare_moves(comparison);
	diff->rows = gets_packets(diff) ? TABLE_ROWS : 0;
	diff->at_risk = diff->rows ? diff->at_risk : 0;
	diff->changed = mean_over_binds(diff, outcomes->changed, TABLE_ROWS, false);
	diff->broken = mean_over_binds(diff, outcomes->broken, TABLE_ROWS, false);
	diff->skew = mean_over_binds(diff, outcomes->skew, 0, false);
	diff->udp_moved = mean_over_binds(diff, outcomes->changed, 0, true);
	for (uint32_t i = 0; i < diff->before->bind_count; i++)
		diff->udp_binds +=
			follows_first_hop(diff, &diff->before->binds[i]) && bind_gets_packets(&diff->old_fates[i]);
	add_causes(diff, outcomes);
}

/* held: of the old table; it may be NULL or empty. left: by new table, or NULL. */
static void compare(struct table_diff *diff, const struct table_set *after, struct holders *held, struct holders *left)
{
	const uint8_t *seed = diff->before ? first_holders_seed(diff->before, diff->after) : NULL;
	struct comparison comparison = {.diff = diff, .after = after, .held = held, .left = left};
	/* The balance of NEW may be that of OLD, too. Then the natural order does not tell who was first. */
	bool unsure = seed && table_is_version_2(diff->before) && table_is_matched(diff->after);
	struct holders first = {0};

	diff->seed_known = seed;
	if (!held || !held->list) {
		if (diff->before && diff->before->rows)
			first_holders_create(&first, diff->before, unsure ? NULL : seed);
		else
			holders_create(&first);
		comparison.held = &first;
	}
	comparison.outcomes = alloc_zeroed(1, sizeof(*comparison.outcomes));
	compare_all(&comparison);
	free(comparison.outcomes);
	holders_free(&first);
}

/* The same previous states, too: they tell who may hold connections. */
static bool has_same_input(const struct table *before, const struct table *after)
{
	return table_same_rows_input(before, after) && memcmp(before->hash_key, after->hash_key, SIPHASH_KEY_SIZE) == 0;
}

static bool is_unchanged(const struct table *before, const struct table *after)
{
	return has_same_input(before, after) && before->row_hops == after->row_hops &&
	       memcmp(before->rows, after->rows, sizeof(*before->rows) * TABLE_ROWS * before->row_hops) == 0;
}

/* Adds the tables that are not the successor of `table` itself. */
static void join_others(struct table_mask *joined, const struct table_mask *tables, const struct table_diff *table)
{
	for (uint32_t to = table_mask_next(tables, 0); to < TABLE_MAX_TABLES; to = table_mask_next(tables, to + 1))
		if (!table->after || to != table->new_index)
			table_mask_add(joined, to);
}

/* Adds the tables that get packets of the table, other than its successor. */
static void add_moves(struct table_mask *joined, const struct table_diff *table)
{
	for (uint32_t i = 0; table->before && i < table->before->bind_count; i++)
		join_others(joined, &table->old_fates[i].tables, table);
}

/* Opens the entries of `left` that the tables need, by the rule in table_diff.h. */
static void open_left(const struct table_set_diff *diff, const struct holders *held, struct holders *left)
{
	struct table_mask joined = {0};

	for (uint32_t t = 0; t < diff->count; t++)
		add_moves(&joined, &diff->tables[t]);
	for (uint32_t t = 0; t < diff->count; t++) {
		const struct table_diff *table = &diff->tables[t];

		if (!table->after)
			continue;
		if (!table->before || held[table->old_index].list || table_mask_has(&joined, table->new_index) ||
			!is_unchanged(table->before, table->after))
			holders_create(&left[table->new_index]);
	}
}

static void add_totals(struct table_set_diff *diff, const struct table_diff *table)
{
	diff->rows += table->rows;
	diff->changed += table->changed;
	diff->broken += table->broken;
	diff->skew += table->skew;
	diff->at_risk += table->at_risk;
	diff->udp_moved += table->udp_moved;
	for (unsigned cause = 0; cause < TABLE_DIFF_CAUSES; cause++)
		diff->causes[cause] += table->causes[cause];
}

void table_set_diff_follow(struct table_set_diff *diff, const struct table_set *before, const struct table_set *after,
	struct holders *held, struct holders *left)
{
	*diff = (struct table_set_diff){.tables = alloc_zeroed(before->count + after->count, sizeof(*diff->tables))};
	bind_diff_create(&diff->binds, before, after);
	diff->count = table_pairs(before, after, &diff->binds, diff->tables);
	if (left)
		open_left(diff, held, left);
	for (uint32_t i = 0; i < diff->count; i++) {
		struct table_diff *table = &diff->tables[i];
		struct holders *of_table = held && table->before ? &held[table->old_index] : NULL;

		progress("compared tables", i, diff->count);
		compare(table, after, of_table, left);
		add_totals(diff, table);
		if (of_table)
			holders_free(of_table);
	}
}

int table_set_diff_build(struct table_set *before, struct table_set *after, unsigned threads)
{
	struct table_diff *pairs = alloc_zeroed(before->count + after->count, sizeof(*pairs));
	struct table_mask joined = {0}, old = {0}, new = {0};
	struct bind_diff binds;
	uint32_t count;
	int error;

	bind_diff_create(&binds, before, after);
	count = table_pairs(before, after, &binds, pairs);
	for (uint32_t i = 0; i < count; i++)
		add_moves(&joined, &pairs[i]);
	for (const struct table_diff *pair = pairs; pair < pairs + count; pair++) {
		struct table_mask moves = {0};

		add_moves(&moves, pair);
		if (pair->before && pair->after && !table_mask_any(&moves) &&
			!table_mask_has(&joined, pair->new_index) && has_same_input(pair->before, pair->after))
			continue;
		if (pair->before)
			table_mask_add(&old, pair->old_index);
		if (pair->after)
			table_mask_add(&new, pair->new_index);
	}
	free(pairs);
	bind_diff_free(&binds);
	error = table_build_some(before, &old, threads);
	return error ? error : table_build_some(after, &new, threads);
}

void table_set_diff_create(struct table_set_diff *diff, const struct table_set *before, const struct table_set *after)
{
	table_set_diff_follow(diff, before, after, NULL, NULL);
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
	diff->rows = diff->changed = diff->broken = diff->skew = diff->at_risk = diff->udp_moved = 0;
	memset(diff->causes, 0, sizeof(diff->causes));
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
