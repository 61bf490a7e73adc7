/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/table_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "table/table_rows.h"

/* Members of a set that the list of a row has on average. Few rows need more to be matched. */
#define LISTED     16
#define MAX_STRIDE 64

/* One mention of an address and a weight, in the table or in a previous state. */
struct mention {
	struct table_contender contender;
	uint32_t number; /* in the order in which they are listed, newest state first */
};

/* Orders by address, then by weight, then as listed. */
static int compare_mentions(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;

	if (x->contender.word != y->contender.word)
		return x->contender.word < y->contender.word ? -1 : 1;
	if (x->contender.weight != y->contender.weight)
		return x->contender.weight < y->contender.weight ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Writes the backends of the table that are not inactive. Returns their number; UINT32_MAX: out of memory. */
static uint32_t mention_table(const struct table *table, struct mention *out)
{
	struct table_candidate *candidates = calloc(table->backend_count + 1, sizeof(*candidates));
	uint32_t count = candidates ? table_rows_candidates(table, candidates) : 0;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t state = table->backends[candidates[i].backend].state;

		out[i] = (struct mention){.number = i,
			.contender = {.word = candidates[i].word,
				.weight = candidates[i].weight,
				.backend = candidates[i].backend,
				.sets = UINT32_C(1) << TABLE_ORDER_SERVING |
					(uint32_t)candidates[i].preferred << TABLE_ORDER_PREFERRED |
					(state == TABLE_ACTIVE || state == TABLE_FILLING)}};
	}
	free(candidates);
	return candidates ? count : UINT32_MAX;
}

/* Writes the backends of all previous states behind the `count` mentions of the table. Returns the number of all. */
static uint32_t mention_past(const struct table *table, struct mention *out, uint32_t count)
{
	for (uint32_t p = 0; p < table->past_count; p++) {
		const struct table_past *past = &table->past[p];

		for (uint32_t i = 0; i < past->backend_count; i++, count++)
			out[count] = (struct mention){.number = count,
				.contender = {.word = table_rows_word(&past->backends[i].addr),
					.weight = past->backends[i].weight,
					.backend = TABLE_ORDER_GONE,
					.sets = UINT32_C(1) << (TABLE_ORDER_PAST + p)}};
	}
	return count;
}

/* Merges mentions of the same address and weight. All mentions of an address get its index in the table. Returns how many
 * are left. */
static uint32_t merge(struct mention *mentions, uint32_t count)
{
	uint32_t left = 0;

	qsort(mentions, count, sizeof(*mentions), compare_mentions);
	for (uint32_t first = 0, end; first < count; first = end) {
		uint16_t backend = TABLE_ORDER_GONE;

		for (end = first; end < count && mentions[end].contender.word == mentions[first].contender.word; end++)
			if (mentions[end].contender.backend != TABLE_ORDER_GONE)
				backend = mentions[end].contender.backend;
		for (uint32_t i = first; i < end; i++) {
			mentions[i].contender.backend = backend;
			if (i > first && mentions[i].contender.weight == mentions[left - 1].contender.weight)
				mentions[left - 1].contender.sets |= mentions[i].contender.sets;
			else
				mentions[left++] = mentions[i];
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

/* Chooses set_keys, so that a list has about LISTED members of each set. Small sets are in the list as a whole. */
static void choose_keys(struct table_order *order)
{
	for (unsigned set = 0; set < TABLE_ORDER_SETS; set++) {
		uint64_t weights = 0, members = 0;

		for (uint32_t i = 0; i < order->contender_count; i++)
			if (order->contenders[i].sets >> set & 1) {
				weights += order->contenders[i].weight;
				members++;
			}
		/* The least key of the set is 2^40 / ln 2 / weights on average; and so are the distances to the next
		 * ones. */
		order->set_keys[set] =
			members <= LISTED ? UINT64_MAX : (UINT64_C(1) << 40) / 693 * 1000 * LISTED / weights;
	}
}

static int allocate_lists(struct table_order *order)
{
	double mean = 0;

	for (uint32_t i = 0; i < order->contender_count; i++) {
		struct table_contender *contender = &order->contenders[i];

		for (unsigned set = 0; set < TABLE_ORDER_SETS; set++)
			if (contender->sets >> set & 1) {
				uint64_t limit = lowest_score(order->set_keys[set], contender->weight);

				contender->limit = limit > contender->limit ? limit : contender->limit;
			}
		mean += (double)contender->limit / 18446744073709551616.0;
	}
	order->stride = mean + 8 > MAX_STRIDE ? MAX_STRIDE : (uint32_t)(mean + 8);
	if (order->stride > order->contender_count)
		order->stride = order->contender_count;
	order->entries = malloc(sizeof(*order->entries) * TABLE_ROWS * order->stride);
	order->counts = malloc(sizeof(*order->counts) * TABLE_ROWS);
	return order->entries && order->counts ? 0 : -ENOMEM;
}

int table_order_open(struct table_order *order, const struct table *table)
{
	uint32_t count = table->backend_count;
	struct mention *mentions;

	*order = (struct table_order){.seed = table->seed};
	for (uint32_t p = 0; p < table->past_count; p++)
		count += table->past[p].backend_count;
	mentions = calloc(count + 1, sizeof(*mentions));
	count = mentions ? mention_table(table, mentions) : UINT32_MAX;
	if (count == UINT32_MAX) {
		free(mentions);
		return -ENOMEM;
	}
	count = merge(mentions, mention_past(table, mentions, count));
	order->contenders = calloc(count + 1, sizeof(*order->contenders));
	order->contender_count = order->contenders ? count : 0;
	for (uint32_t i = 0; i < order->contender_count; i++)
		order->contenders[i] = mentions[i].contender;
	free(mentions);
	if (!order->contenders)
		return -ENOMEM;
	choose_keys(order);
	return allocate_lists(order);
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

static uint64_t row_seed(const uint8_t *seed, uint32_t row)
{
	uint8_t number[4];

	store_be32(number, row);
	return siphash(seed, number, sizeof(number));
}

static uint64_t score_of(const struct table_order *order, uint64_t seed_of_row, uint32_t contender)
{
	uint64_t message[2] = {seed_of_row, order->contenders[contender].word};

	return __builtin_bswap64(siphash(order->seed, message, 8 + 4));
}

/* Inserts into a sorted list of at most `stride`. */
static uint32_t insert(struct placed *list, uint32_t count, uint32_t stride, const struct placed *placed)
{
	uint32_t at = count < stride ? count : stride - 1;

	if (count == stride && !is_before(placed, &list[at]))
		return count;
	for (; at > 0 && is_before(placed, &list[at - 1]); at--)
		list[at] = list[at - 1];
	list[at] = *placed;
	return count < stride ? count + 1 : count;
}

static void store_list(const struct table_order *order, const struct placed *list, uint32_t count, uint32_t row)
{
	struct table_order_entry *entries = order->entries + (size_t)row * order->stride;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t sets = order->contenders[list[i].contender].sets;

		for (unsigned set = 0; set < TABLE_ORDER_SETS; set++)
			if (list[i].rank.key >= order->set_keys[set])
				sets &= ~(UINT32_C(1) << set);
		entries[i] = (struct table_order_entry){list[i].rank.score, list[i].contender, sets};
	}
	order->counts[row] = (uint16_t)count;
}

void table_order_fill(const struct table_order *order, uint32_t first, uint32_t end)
{
	for (uint32_t row = first; row < end; row++) {
		uint64_t seed = row_seed(order->seed, row);
		struct placed list[MAX_STRIDE];
		uint32_t count = 0;

		for (uint32_t i = 0; i < order->contender_count; i++) {
			uint64_t score = score_of(order, seed, i);
			struct placed placed;

			if (score >= order->contenders[i].limit)
				continue;
			placed = (struct placed){table_rank_of(score, order->contenders[i].weight), i};
			count = insert(list, count, order->stride, &placed);
		}
		store_list(order, list, count, row);
	}
}

/* The same as table_order_next() without a list. */
static bool search(
	const struct table_order *order, uint32_t row, unsigned set, uint32_t passed, struct table_order_entry *entry)
{
	uint64_t seed = row_seed(order->seed, row);
	struct placed last = {{0}, 0}, best = {{0}, TABLE_ORDER_GONE};
	bool found = false;

	if (passed) {
		uint64_t score = score_of(order, seed, passed - 1);

		last = (struct placed){table_rank_of(score, order->contenders[passed - 1].weight), passed - 1};
	}
	for (uint32_t i = 0; i < order->contender_count; i++) {
		struct placed placed = {{0}, i};

		if (!(order->contenders[i].sets >> set & 1))
			continue;
		placed.rank = table_rank_of(score_of(order, seed, i), order->contenders[i].weight);
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
		found = search(order, row, set, cursor->passed, entry);
	if (found)
		cursor->passed = entry->contender + 1;
	return found;
}
