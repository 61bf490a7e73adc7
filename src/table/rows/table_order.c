/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/rows/table_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table/rows/table_rows_isa.h"

/* Members of a set that the list of a row has on average: few rows need more to be matched, or for all their hops. */
#define LISTED      10
#define LISTED_HOPS 8 /* more than the row has hops */
#define SPARE       8 /* entries of a list above the average */
#define MAX_STRIDE  64 /* 64 MiB for all rows */
#define FOUND       128 /* contenders that are sorted for a row; more are very unlikely */

/* Contenders that are hashed at once, with 512 bytes of scores each. */
#define HASHED 32

/* One mention of an address and a weight, in the table or in a previous state. */
struct mention {
	struct table_contender contender;
	const struct netaddr *addr;
	uint32_t number; /* in the order in which they are listed, newest state first */
};

/* Orders by address, then by weight, then as listed. */
static int compare_mentions(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;
	int order = netaddr_compare(x->addr, y->addr);

	if (order)
		return order;
	if (x->contender.weight != y->contender.weight)
		return x->contender.weight < y->contender.weight ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Writes the backends of the table that are not inactive. taking_part: they are in the sets of the table, else in none.
 * Returns their number; UINT32_MAX: out of memory. */
static uint32_t mention_table(const struct table *table, bool taking_part, struct mention *out)
{
	struct table_candidate *candidates = calloc(table->backend_count + 1, sizeof(*candidates));
	uint32_t count = candidates ? table_rows_candidates(table, candidates) : 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct table_backend *backend = &table->backends[candidates[i].backend];

		out[i] = (struct mention){.number = i,
			.addr = &backend->addr,
			.contender = {.word = candidates[i].word,
				.weight = candidates[i].weight,
				.backend = candidates[i].backend,
				.sets = taking_part *
					(UINT32_C(1) << TABLE_ORDER_SERVING |
						(uint32_t)backend->healthy << TABLE_ORDER_HEALTHY |
						(uint32_t)candidates[i].preferred << TABLE_ORDER_PREFERRED |
						(backend->state == TABLE_ACTIVE || backend->state == TABLE_FILLING))}};
	}
	free(candidates);
	return candidates ? count : UINT32_MAX;
}

/* Writes the backends of all previous states behind the `count` mentions of the table; those of other states than
 * `first` up to `end` are in no set. Returns the number of all. */
static uint32_t mention_past(const struct table *table, unsigned first, unsigned end, struct mention *out, uint32_t count)
{
	for (unsigned set = TABLE_ORDER_PAST; set < TABLE_ORDER_PAST + table->past_count; set++) {
		const struct table_past *past = &table->past[set - TABLE_ORDER_PAST];
		uint32_t sets = set >= first && set < end ? UINT32_C(1) << set : 0;

		for (uint32_t i = 0; i < past->backend_count; i++, count++)
			out[count] = (struct mention){.number = count,
				.addr = &past->backends[i].addr,
				.contender = {.word = table_rows_word(table->seed, &past->backends[i].addr),
					.weight = past->backends[i].weight,
					.backend = TABLE_ORDER_GONE,
					.sets = sets,
					.down = past->backends[i].healthy ? 0 : sets}};
	}
	return count;
}

/* Merges mentions of the same address and weight. All mentions of an address get its index in the table. Returns how
 * many are left. */
static uint32_t merge(struct mention *mentions, uint32_t count)
{
	uint32_t left = 0;

	qsort(mentions, count, sizeof(*mentions), compare_mentions);
	for (uint32_t first = 0, end; first < count; first = end) {
		uint16_t backend = TABLE_ORDER_GONE;

		for (end = first; end < count && netaddr_compare(mentions[end].addr, mentions[first].addr) == 0; end++)
			if (mentions[end].contender.backend != TABLE_ORDER_GONE)
				backend = mentions[end].contender.backend;
		for (uint32_t i = first; i < end; i++) {
			mentions[i].contender.backend = backend;
			if (i > first && mentions[i].contender.weight == mentions[left - 1].contender.weight) {
				mentions[left - 1].contender.sets |= mentions[i].contender.sets;
				mentions[left - 1].contender.down |= mentions[i].contender.down;
			} else {
				mentions[left++] = mentions[i];
			}
		}
	}
	qsort(mentions, left, sizeof(*mentions), compare_numbers);
	return left;
}

/* Returns the lowest score with a key that is not below `key`, or UINT64_MAX. */
static uint64_t lowest_score(uint64_t key, unsigned weight)
{
	uint64_t score = 0;

	for (uint64_t bit = UINT64_C(1) << 63; bit; bit >>= 1)
		if (table_weight_key(score + bit - 1, weight) < key)
			score += bit;
	return score;
}

static int compare_bounds(const void *a, const void *b)
{
	const struct table_order_bound *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Chooses the bounds. Small sets are in the list as a whole. */
static void choose_bounds(struct table_order *order, unsigned hops)
{
	for (unsigned set = 0; set < TABLE_ORDER_SETS; set++) {
		bool fills = set == TABLE_ORDER_SERVING || set == TABLE_ORDER_HEALTHY;
		uint64_t weights = 0, members = 0, listed = fills ? hops + LISTED_HOPS : LISTED;

		for (uint32_t i = 0; i < order->contender_count; i++)
			if (order->contenders[i].sets >> set & 1) {
				weights += order->contenders[i].weight;
				members++;
			}
		/* The least key of the set is 2^40 / ln 2 / weights on average; and so are the distances to the next
		 * ones. */
		order->bounds[set] = (struct table_order_bound){
			members <= listed ? UINT64_MAX : (UINT64_C(1) << 40) / 693 * 1000 * listed / weights,
			UINT32_C(1) << set};
	}
	qsort(order->bounds, TABLE_ORDER_SETS, sizeof(*order->bounds), compare_bounds);
	order->bounds[TABLE_ORDER_SETS].key = UINT64_MAX;
}

/* Sets the limit of each contender. Returns how many entries a list has on average. */
static double set_limits(struct table_order *order)
{
	double mean = 0;

	for (uint32_t i = 0; i < order->contender_count; i++) {
		struct table_contender *contender = &order->contenders[i];
		const struct table_order_bound *bound = &order->bounds[TABLE_ORDER_SETS - 1];

		while (!(contender->sets & bound->sets))
			bound--;
		contender->limit = lowest_score(bound->key, contender->weight);
		mean += (double)contender->limit / 18446744073709551616.0;
	}
	return mean;
}

/* Collects the contenders of the states from `first` up to, but without, `end`. */
static int collect_contenders(struct table_order *order, const struct table *table, unsigned first, unsigned end)
{
	uint32_t count = table->backend_count, used = 0;
	struct mention *mentions;

	for (uint32_t p = 0; p < table->past_count; p++)
		count += table->past[p].backend_count;
	mentions = calloc(count + 1, sizeof(*mentions));
	count = mentions ? mention_table(table, first == 0, mentions) : UINT32_MAX;
	if (count == UINT32_MAX) {
		free(mentions);
		return -ENOMEM;
	}
	count = merge(mentions, mention_past(table, first, end, mentions, count));
	order->contenders = calloc(count + 1, sizeof(*order->contenders));
	for (uint32_t i = 0; order->contenders && i < count; i++)
		if (mentions[i].contender.sets)
			order->contenders[used++] = mentions[i].contender;
	order->contender_count = used;
	free(mentions);
	return order->contenders ? 0 : -ENOMEM;
}

int table_order_open(struct table_order *order, const struct table *table, unsigned first)
{
	unsigned end = table->past_count + TABLE_ORDER_PAST;
	double mean = 0;
	int error;

	/* States with many different weights would make lists that are too long. So they get orders of their own. */
	for (;; end = first + (end - first + 1) / 2) {
		*order = (struct table_order){.seed = table->seed, .end = end};
		error = collect_contenders(order, table, first, end);
		if (error)
			return error;
		choose_bounds(order, table->hops);
		mean = set_limits(order);
		if (mean <= MAX_STRIDE - SPARE || end - first == 1)
			break;
		table_order_close(order);
	}
	order->stride = mean <= MAX_STRIDE - SPARE ? (uint32_t)mean + SPARE : MAX_STRIDE;
	if (order->stride > order->contender_count)
		order->stride = order->contender_count;
	order->entries = malloc(sizeof(*order->entries) * (TABLE_ROWS * (size_t)order->stride + 1));
	order->counts = calloc(TABLE_ROWS, sizeof(*order->counts));
	return order->entries && order->counts ? 0 : -ENOMEM;
}

void table_order_close(struct table_order *order)
{
	free(order->contenders);
	free(order->entries);
	free(order->counts);
	*order = (struct table_order){0};
}

/* A contender in a row, with all that decides its place. */
struct placed {
	struct table_rank rank;
	uint32_t contender;
};

static bool is_before(const struct placed *a, const struct placed *b)
{
	if (table_rank_before(&a->rank, &b->rank))
		return true;
	return !table_rank_before(&b->rank, &a->rank) && a->contender < b->contender;
}

/* The contenders with scores below their limits, for each row of a block. There is no branch for each of them, because
 * the CPU would often guess wrongly. */
struct block {
	uint32_t counts[TABLE_ROWS_BLOCK];
	uint64_t scores[TABLE_ROWS_BLOCK][FOUND + 1];
	uint32_t contenders[TABLE_ROWS_BLOCK][FOUND + 1]; /* ascending */
};

/* Adds a few contenders, from `first` on. */
static void collect(const struct table_order *order, uint32_t first, uint32_t count,
	uint64_t (*scores)[TABLE_ROWS_BLOCK], struct block *block)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t limit = order->contenders[first + i].limit;

		for (uint32_t lane = 0; lane < TABLE_ROWS_BLOCK; lane++) {
			uint32_t at = block->counts[lane] < FOUND ? block->counts[lane] : FOUND;

			block->scores[lane][at] = scores[i][lane];
			block->contenders[lane][at] = first + i;
			block->counts[lane] += scores[i][lane] < limit;
		}
	}
}

/* Sorts the contenders of a row: sorted[place] is an index into its scores, keys and contenders. */
static void sort_found(const uint64_t *scores, const uint64_t *keys, uint32_t count, uint8_t *sorted)
{
	uint64_t tagged[FOUND]; /* keys with their index, so that no two are equal */

	for (uint32_t i = 0; i < count; i++)
		tagged[i] = keys[i] * FOUND + i;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t place = 0;

		for (uint32_t j = 0; j < count; j++)
			place += tagged[j] < tagged[i];
		sorted[place] = (uint8_t)i;
	}
	for (uint32_t place = 1; place < count; place++)
		for (uint32_t at = place; at > 0; at--) {
			uint8_t a = sorted[at - 1], b = sorted[at];

			if (keys[a] != keys[b] || scores[a] <= scores[b])
				break;
			sorted[at - 1] = b;
			sorted[at] = a;
		}
}

static void store_list(const struct table_order *order, const struct block *block, uint32_t lane, uint32_t row)
{
	struct table_order_entry *entries = order->entries + (size_t)row * order->stride;
	const uint64_t *scores = block->scores[lane];
	const uint32_t *contenders = block->contenders[lane];
	uint32_t count = block->counts[lane], sets = ~UINT32_C(0);
	const struct table_order_bound *bound = order->bounds;
	uint64_t keys[FOUND];
	uint8_t sorted[FOUND];

	/* Without a list, search() finds them. */
	if (count > FOUND)
		return;
	for (uint32_t i = 0; i < count; i++)
		keys[i] = table_weight_key(scores[i], order->contenders[contenders[i]].weight);
	sort_found(scores, keys, count, sorted);
	if (count > order->stride)
		count = order->stride;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t contender = contenders[sorted[i]];

		for (; keys[sorted[i]] >= bound->key; bound++)
			sets &= ~bound->sets;
		entries[i] = (struct table_order_entry){
			scores[sorted[i]], contender, sets & order->contenders[contender].sets};
	}
	order->counts[row] = (uint16_t)count;
}

void table_order_fill(const struct table_order *order, uint32_t first, uint32_t end)
{
	table_scores_fn *hash = table_scores_by_isa[table_rows_isa()];
	uint64_t words[HASHED], scores[HASHED][TABLE_ROWS_BLOCK];
	struct block block;

	for (uint32_t row = first; row < end; row += TABLE_ROWS_BLOCK) {
		memset(block.counts, 0, sizeof(block.counts));
		for (uint32_t i = 0, count; i < order->contender_count; i += count) {
			for (count = 0; count < HASHED && i + count < order->contender_count; count++)
				words[count] = order->contenders[i + count].word;
			hash(order->seed, words, count, row, scores);
			collect(order, i, count, scores, &block);
		}
		for (uint32_t lane = 0; lane < TABLE_ROWS_BLOCK; lane++)
			store_list(order, &block, lane, row + lane);
	}
}

/* The same as table_order_next() without a list. up: only those that are healthy in the previous state `set`. */
static bool search(const struct table_order *order, uint32_t row, unsigned set, bool up, uint32_t passed,
	struct table_order_entry *entry)
{
	uint64_t seed = table_rows_seed(order->seed, row);
	struct placed last = {{0}, 0}, best = {{0}, TABLE_ORDER_GONE};
	bool found = false;

	if (passed) {
		uint64_t score = table_rows_score(order->seed, seed, order->contenders[passed - 1].word);

		last = (struct placed){table_rank_of(score, order->contenders[passed - 1].weight), passed - 1};
	}
	for (uint32_t i = 0; i < order->contender_count; i++) {
		struct placed placed = {{0}, i};

		if (!(order->contenders[i].sets >> set & 1) || (up && order->contenders[i].down >> set & 1))
			continue;
		placed.rank = table_rank_of(
			table_rows_score(order->seed, seed, order->contenders[i].word), order->contenders[i].weight);
		if ((!passed || is_before(&last, &placed)) && (!found || is_before(&placed, &best))) {
			best = placed;
			found = true;
		}
	}
	*entry = (struct table_order_entry){best.rank.score, best.contender, 0};
	return found;
}

bool table_order_next(const struct table_order *order, uint32_t row, unsigned set, struct table_order_cursor *cursor,
	struct table_order_entry *entry)
{
	const struct table_order_entry *entries = order->entries + (size_t)row * order->stride;
	bool found = false;

	while (!found && cursor->at < order->counts[row]) {
		*entry = entries[cursor->at++];
		found = entry->sets >> set & 1;
	}
	if (!found)
		found = search(order, row, set, false, cursor->passed, entry);
	if (found)
		cursor->passed = entry->contender + 1;
	return found;
}

uint32_t table_order_first_up(const struct table_order *order, uint32_t row, unsigned set)
{
	const struct table_order_entry *entries = order->entries + (size_t)row * order->stride;
	struct table_order_entry entry;

	for (uint32_t i = 0; i < order->counts[row]; i++)
		if (entries[i].sets >> set & 1 && !(order->contenders[entries[i].contender].down >> set & 1))
			return entries[i].contender;
	return search(order, row, set, true, 0, &entry) ? entry.contender : UINT32_MAX;
}
