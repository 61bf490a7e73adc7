/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>

#include "common/byteorder.h"
#include "table/file/json/table_json.h"
#include "table/rows/table_build.h"
#include "table/rows/table_rows.h"
#include "table/rows/table_weight.h"
#include "tests/unit/table_helpers.h"

#define TWIN_ROWS 256u

/* The plain twin: the algorithm of docs/reference/table-rows.md step by step, with siphash() and a full sort. */

struct ranked {
	uint64_t key, score;
	uint16_t backend;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	return x->backend - y->backend;
}

static uint32_t natural_order(const struct table *table, uint32_t row, struct ranked *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < table->backend_count; i++) {
		if (table->backends[i].state == TABLE_INACTIVE)
			continue;
		out[count].score = twin_score(table->seed, row, &table->backends[i].addr);
		out[count].key = table_weight_key(out[count].score, table_backend_weight(&table->backends[i]));
		out[count++].backend = (uint16_t)i;
	}
	qsort(out, count, sizeof(*out), compare_ranked);
	return count;
}

static uint16_t first_hop(const struct table *table, const struct ranked *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (table_backend_is_good(&table->backends[order[i].backend]))
			return order[i].backend;
	for (uint32_t i = 0; i < count; i++)
		if (table->backends[order[i].backend].healthy)
			return order[i].backend;
	return order[0].backend;
}

static unsigned twin_row(const struct table *table, uint32_t row, uint16_t hops[TABLE_MAX_HOPS])
{
	static struct ranked order[TABLE_MAX_BACKENDS];
	uint32_t count = natural_order(table, row, order);
	unsigned used = 1;

	hops[0] = first_hop(table, order, count);
	for (uint32_t i = 0; i < table->hops && i < count && used < table->hops; i++)
		if (order[i].backend != hops[0])
			hops[used++] = order[i].backend;
	return used;
}

static void assert_equals_twin(const struct table *table, uint32_t first, uint32_t end)
{
	for (uint32_t row = first; row < end; row++) {
		uint16_t expected[TABLE_MAX_HOPS];

		assert_int_equal(twin_row(table, row, expected), table->row_hops);
		assert_memory_equal(
			table->rows + (size_t)row * table->row_hops, expected, table->row_hops * sizeof(*expected));
	}
}

/* Fills the first and the last rows with every ISA that this CPU can run. */
static void compare_isas(struct table *table)
{
	struct table_candidate *candidates = calloc(table->backend_count, sizeof(*candidates));
	uint32_t count = table_rows_candidates(table, candidates);

	table->row_hops = (uint8_t)(count < table->hops ? count : table->hops);
	table->rows = malloc(sizeof(*table->rows) * TABLE_ROWS * table->row_hops);
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		struct table_rows_job job = {table->seed, candidates, count, table->row_hops, table->rows,
			table_rows_weighted(candidates, count)};

		if (!isa_usable(isa)) {
			print_message("%s: not on this CPU\n", isa_name(isa));
			continue;
		}
		memset(table->rows, 0xff, sizeof(*table->rows) * TABLE_ROWS * table->row_hops);
		table_rows_by_isa[isa](&job, 0, TWIN_ROWS / 2);
		table_rows_by_isa[isa](&job, TABLE_ROWS - TWIN_ROWS / 2, TABLE_ROWS);
		assert_equals_twin(table, 0, TWIN_ROWS / 2);
		assert_equals_twin(table, TABLE_ROWS - TWIN_ROWS / 2, TABLE_ROWS);
		/* It wrote no other rows. */
		assert_int_equal(table->rows[TWIN_ROWS / 2 * table->row_hops], 0xffff);
	}
	free(candidates);
}

static void test_every_isa_equals_the_plain_twin(void **state)
{
	static const uint32_t large[] = {63, 64, 65, 100, 257};

	(void)state;
	for (uint32_t size = 1; size <= 45; size += STEP) {
		for (uint8_t hops = TABLE_MIN_HOPS; hops <= TABLE_MAX_HOPS; hops++) {
			struct table_set set = random_set(1);

			backend_family = (size + hops) % 2 ? NETADDR_V6 : NETADDR_V4;
			random_table(&set.tables[0], size <= 40 ? size : large[size - 41], 0, hops, size % 3,
				hops == 2 && size % 2 ? ALL_GOOD : ANY_STATE);
			compare_isas(&set.tables[0]);
			table_set_free(&set);
		}
	}
}

/* Equal hashes do not occur with different addresses in practice, so three candidates share each address here. The first of
 * the three may not become the first hop. */
static void test_equal_hashes_keep_the_order_of_backends(void **state)
{
	enum { COUNT = 24, HOPS = 4 };
	static uint16_t rows[TABLE_ROWS * HOPS];
	struct table_candidate candidates[COUNT] = {0};
	const uint8_t seed[SIPHASH_KEY_SIZE] = {1};
	struct table_rows_job job = {seed, candidates, COUNT, HOPS, rows, false};

	(void)state;
	for (uint16_t i = 0; i < COUNT; i++) {
		candidates[i].word = i % (COUNT / 3);
		candidates[i].preferred = i >= COUNT / 3;
		candidates[i].backend = i;
		candidates[i].weight = 7;
	}
	for (unsigned i = 0; i < 2 * ISA_COUNT; i++) {
		enum isa isa = i / 2;

		if (!isa_usable(isa))
			continue;
		/* The weights are equal, but the code for different ones keeps the same order. */
		job.weighted = !job.weighted;
		table_rows_by_isa[isa](&job, 0, TWIN_ROWS);
		for (const uint16_t *row = rows; row < rows + TWIN_ROWS * HOPS; row += HOPS) {
			assert_in_range(row[0], COUNT / 3, 2 * COUNT / 3 - 1);
			assert_int_equal(row[1], row[0] - COUNT / 3);
			assert_int_equal(row[2], row[0] + COUNT / 3);
			assert_in_range(row[3], 0, COUNT / 3 - 1);
		}
	}
}

static void set_weights(struct table *table, uint16_t most)
{
	for (uint32_t i = 0; i < table->backend_count; i++)
		table->backends[i].weight = (uint16_t)(1 + random_below(most));
}

static void test_every_isa_weighs_like_the_plain_twin(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 70; size += STEP + size / 10) {
		for (uint8_t hops = TABLE_MIN_HOPS; hops <= TABLE_MAX_HOPS; hops++) {
			struct table_set set = random_set(1);

			backend_family = (size + hops) % 2 ? NETADDR_V6 : NETADDR_V4;
			random_table(&set.tables[0], size, 0, hops, NETADDR_V4, ANY_STATE);
			set_weights(&set.tables[0], size % 2 ? 3 : TABLE_MAX_WEIGHT);
			compare_isas(&set.tables[0]);
			table_set_free(&set);
		}
	}
}

/* Builds a table twice: as it is, and weighted although all weights are equal. */
static void test_equal_weights_give_the_same_bytes(void **state)
{
	static const uint16_t weights[] = {1, 99, 100, 1000};
	struct table_set set = random_set(1);
	struct table *table = &set.tables[0];
	struct table_candidate candidates[40];
	uint16_t *rows;

	(void)state;
	random_table(table, 40, 0, 4, NETADDR_V4, ANY_STATE);
	assert_int_equal(table_build(&set, 1), 0);
	rows = malloc(sizeof(*rows) * TABLE_ROWS * table->row_hops);
	for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
		struct table_rows_job job = {.seed = table->seed,
			.candidates = candidates,
			.row_hops = table->row_hops,
			.rows = rows,
			.weighted = true};

		for (uint32_t b = 0; b < table->backend_count; b++)
			table->backends[b].weight = weights[i];
		job.candidate_count = table_rows_candidates(table, candidates);
		assert_false(table_rows_weighted(candidates, job.candidate_count));
		table_rows_by_isa[isa_widest()](&job, 0, TABLE_ROWS);
		assert_memory_equal(rows, table->rows, sizeof(*rows) * TABLE_ROWS * table->row_hops);
	}
	free(rows);
	table_set_free(&set);
}

static void test_keys_do_not_contradict_scores(void **state)
{
	uint64_t edges[2 * 64 * 257], last = 0;
	size_t count = 0;

	(void)state;
	/* Around every knot: the key of the score before is not larger. */
	for (unsigned zeros = 0; zeros < 64; zeros++)
		for (uint64_t knot = 0; knot <= 256; knot++) {
			uint64_t rest = (256 + knot > 511 ? UINT64_MAX : (256 + knot) << 55) >> zeros;

			edges[count++] = ~rest;
			edges[count++] = ~(rest ? rest - 1 : 0);
		}
	for (size_t i = 0; i < count; i += 2)
		assert_true(table_weight_key(edges[i], 1) <= table_weight_key(edges[i + 1], 1));
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t score = UINT64_MAX / 100000 * i;

		assert_true(table_weight_key(score, 1) >= last);
		last = table_weight_key(score, 1);
	}
}

/* First hops are proportional to the weights, within five standard deviations. */
static void test_shares_are_proportional(void **state)
{
	struct table_set set = random_set(1);
	struct table *table = &set.tables[0];
	uint32_t first[24] = {0}, sum = 0;

	(void)state;
	random_table(table, 24, 0, 2, NETADDR_V4, ALL_GOOD);
	set_weights(table, 1000);
	table->backends[0].weight = 1;
	assert_int_equal(table_build(&set, 1), 0);
	for (uint32_t row = 0; row < TABLE_ROWS; row++)
		first[table->rows[row * 2]]++;
	for (uint32_t i = 0; i < 24; i++)
		sum += table->backends[i].weight;
	for (uint32_t i = 0; i < 24; i++) {
		double share = (double)table->backends[i].weight / sum, mean = share * TABLE_ROWS;
		double off = first[i] - mean;

		assert_true(off * off < 25 * mean * (1 - share));
	}
	table_set_free(&set);
}

/* The rows that change have the reweighted backend in them, and the others keep their order. */
static void test_one_weight_moves_rows_only_to_or_from_its_backend(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 6; round++) {
		struct table_set set = random_set(2);
		struct table *before = &set.tables[0], *after = &set.tables[1];
		uint32_t gained = 0, lost = 0;

		random_table(before, 20, 0, 3, NETADDR_V4, ALL_GOOD);
		random_table(after, 20, 0, 3, NETADDR_V4, ALL_GOOD);
		if (round % 2)
			set_weights(before, 1000);
		memcpy(after->seed, before->seed, sizeof(before->seed));
		memcpy(after->backends, before->backends, sizeof(*before->backends) * 20);
		before->backends[5].weight = 100;
		after->backends[5].weight = round < 3 ? 130 : 60;
		assert_int_equal(table_build(&set, 1), 0);
		for (uint32_t row = 0; row < TABLE_ROWS; row++) {
			const uint16_t *old = before->rows + row * 3, *new = after->rows + row * 3;

			if (old[0] != new[0]) {
				gained += new[0] == 5;
				lost += old[0] == 5;
				assert_true(old[0] == 5 || new[0] == 5);
			}
			/* Without backend 5, both list the same backends in the same order. */
			for (unsigned i = 0, j = 0; i < 3 && j < 3; i++, j++) {
				i += old[i] == 5;
				j += new[j] == 5;
				if (i < 3 && j < 3)
					assert_int_equal(old[i], new[j]);
			}
		}
		assert_true(round < 3 ? gained && !lost : lost && !gained);
		table_set_free(&set);
	}
}

static void test_whole_table_equals_the_plain_twin(void **state)
{
	struct table_set set = random_set(2);

	(void)state;
	backend_family = NETADDR_V4;
	random_table(&set.tables[0], 20, 0, 3, NETADDR_V4, ANY_STATE);
	backend_family = NETADDR_V6;
	random_table(&set.tables[1], 3, 0, 4, NETADDR_V6, ANY_STATE);
	assert_int_equal(table_build(&set, 1), 0);
	assert_equals_twin(&set.tables[0], 0, TABLE_ROWS);
	assert_equals_twin(&set.tables[1], 0, TABLE_ROWS);
	table_set_free(&set);
}

static void check_vector(json_t *item)
{
	char *text = json_dumps(json_object_get(item, "table"), JSON_COMPACT);
	struct faults faults = {0};
	struct table_set set;
	const struct table *table;
	const char *number;
	json_t *row;

	assert_int_equal(table_json_parse(text, strlen(text), &set, &faults), 0);
	assert_int_equal(table_build(&set, 1), 0);
	table = &set.tables[0];
	assert_true(json_object_size(json_object_get(item, "rows")) > 0);
	json_object_foreach(json_object_get(item, "rows"), number, row)
	{
		const uint16_t *hops = table->rows + strtoul(number, NULL, 10) * table->row_hops;

		assert_int_equal(json_array_size(row), table->row_hops);
		for (unsigned i = 0; i < table->row_hops; i++) {
			char addr[NETADDR_TEXT_MAX];

			netaddr_format(&table->backends[hops[i]].addr, addr);
			assert_string_equal(addr, json_string_value(json_array_get(row, i)));
		}
	}
	table_set_free(&set);
	faults_clear(&faults);
	free(text);
}

static void test_golden_vectors(void **state)
{
	json_error_t error;
	json_t *root = json_load_file(VECTORS_DIR "/rows.json", 0, &error);

	(void)state;
	assert_non_null(root);
	assert_true(json_array_size(root) > 50);
	for (size_t i = 0; i < json_array_size(root); i += STEP)
		check_vector(json_array_get(root, i));
	json_decref(root);
}

static bool row_has(const struct table *table, uint32_t row, const struct netaddr *addr)
{
	for (unsigned i = 0; i < table->row_hops; i++) {
		uint16_t hop = table->rows[(size_t)row * table->row_hops + i];

		if (netaddr_compare(&table->backends[hop].addr, addr) == 0)
			return true;
	}
	return false;
}

static bool rows_equal(const struct table *a, const struct table *b, uint32_t row)
{
	if (a->row_hops != b->row_hops)
		return false;
	for (unsigned i = 0; i < a->row_hops; i++) {
		uint16_t x = a->rows[(size_t)row * a->row_hops + i];
		uint16_t y = b->rows[(size_t)row * b->row_hops + i];

		if (netaddr_compare(&a->backends[x].addr, &b->backends[y].addr) != 0)
			return false;
	}
	return true;
}

/* Builds a table, and the same table without one of its backends. */
static void with_and_without(
	struct table_set *set, uint32_t size, uint32_t removed, uint8_t hops, enum random_health health)
{
	struct table *with, *without;

	*set = random_set(2);
	with = &set->tables[0];
	without = &set->tables[1];
	random_table(with, size, 0, hops, NETADDR_NONE, health);
	random_table(without, size - 1, 0, hops, NETADDR_NONE, health);
	/* This is not the last backend that can be a hop. */
	with->backends[0].state = with->backends[1].state = TABLE_DRAINING;
	memcpy(without->seed, with->seed, sizeof(with->seed));
	for (uint32_t i = 0; i + 1 < size; i++)
		without->backends[i] = with->backends[i + (i >= removed)];
	assert_int_equal(table_build(set, 1), 0);
}

static void test_removing_a_backend_changes_only_rows_that_had_it(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 12; round++) {
		uint32_t size = 6 + random_below(20), removed = random_below(size), changed = 0;
		struct table_set set;
		const struct netaddr *gone;

		with_and_without(&set, size, removed, (uint8_t)(2 + round % 3), round % 2 ? ALL_GOOD : ANY_STATE);
		gone = &set.tables[0].backends[removed].addr;
		/* With fewer than `hops` backends left, every row gets shorter. */
		if (set.tables[0].row_hops != set.tables[1].row_hops) {
			table_set_free(&set);
			continue;
		}
		for (uint32_t row = 0; row < TABLE_ROWS; row++) {
			bool had = row_has(&set.tables[0], row, gone);

			assert_int_equal(!rows_equal(&set.tables[0], &set.tables[1], row), had);
			changed += had;
		}
		assert_int_equal(changed > 0, set.tables[0].backends[removed].state != TABLE_INACTIVE);
		table_set_free(&set);
	}
}

static void test_an_added_backend_is_the_only_new_hop_of_a_row(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 12; round++) {
		uint32_t size = 6 + random_below(20), added = random_below(size);
		struct table_set set;
		const struct table *after, *before;

		with_and_without(&set, size, added, (uint8_t)(2 + round % 3), round % 2 ? ALL_GOOD : ANY_STATE);
		after = &set.tables[0];
		before = &set.tables[1];
		for (uint32_t row = 0; row < TABLE_ROWS; row++) {
			const uint16_t *hops = after->rows + (size_t)row * after->row_hops;

			/* Every hop but the new one was in the row before. */
			for (unsigned i = 0; i < after->row_hops; i++)
				assert_true(hops[i] == added || row_has(before, row, &after->backends[hops[i]].addr));
		}
		table_set_free(&set);
	}
}

static void test_hops_of_a_row_are_distinct_and_in_range(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 12; round++) {
		struct table_set set = random_set(1);
		struct table *table = &set.tables[0];

		random_table(table, 1 + random_below(12), 0, (uint8_t)(2 + round % 3), NETADDR_NONE, ANY_STATE);
		assert_int_equal(table_build(&set, 1), 0);
		for (size_t row = 0; row < TABLE_ROWS; row++) {
			const uint16_t *hops = table->rows + row * table->row_hops;

			for (unsigned i = 0; i < table->row_hops; i++) {
				assert_true(hops[i] < table->backend_count);
				assert_true(table->backends[hops[i]].state != TABLE_INACTIVE);
				for (unsigned j = 0; j < i; j++)
					assert_int_not_equal(hops[i], hops[j]);
			}
		}
		table_set_free(&set);
	}
}

static void test_rebuild_is_identical(void **state)
{
	struct table_set set = random_set(1);
	struct table *table = &set.tables[0];
	size_t size = sizeof(*table->rows) * TABLE_ROWS * 3;
	uint16_t *old = malloc(size);

	(void)state;
	random_table(table, 30, 4, 3, NETADDR_NONE, ANY_STATE);
	assert_int_equal(table_build(&set, 1), 0);
	assert_int_equal(table->row_hops, 3);
	memcpy(old, table->rows, size);
	memset(table->rows, 0, size);
	assert_int_equal(table_build(&set, 1), 0);
	assert_memory_equal(table->rows, old, size);
	free(old);
	table_set_free(&set);
}

static void test_threads_build_the_same_rows(void **state)
{
	static const unsigned threads[] = {0, 2, 3, TABLE_BUILD_MAX_THREADS, 1000};
	struct table_set set = random_set(3);
	uint64_t digest;

	(void)state;
	random_table(&set.tables[0], 33, 0, 2, NETADDR_NONE, ALL_GOOD);
	random_table(&set.tables[1], 1, 0, 4, NETADDR_V6, ALL_GOOD);
	random_table(&set.tables[2], 70, 0, 4, NETADDR_NONE, ANY_STATE);
	assert_int_equal(table_build(&set, 1), 0);
	digest = table_set_digest(&set);
	for (unsigned i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		assert_int_equal(table_build(&set, threads[i]), 0);
		assert_true(table_set_digest(&set) == digest);
	}
	table_set_free(&set);
}

static void test_a_table_with_only_inactive_backends_is_refused(void **state)
{
	struct table_set set = random_set(1);

	(void)state;
	random_table(&set.tables[0], 2, 0, 2, NETADDR_V4, ALL_GOOD);
	set.tables[0].backends[0].state = set.tables[0].backends[1].state = TABLE_INACTIVE;
	assert_int_equal(table_build(&set, 1), -EINVAL);
	assert_null(set.tables[0].rows);
	table_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_isa_equals_the_plain_twin),
		cmocka_unit_test(test_equal_hashes_keep_the_order_of_backends),
		cmocka_unit_test(test_every_isa_weighs_like_the_plain_twin),
		cmocka_unit_test(test_equal_weights_give_the_same_bytes),
		cmocka_unit_test(test_keys_do_not_contradict_scores),
		cmocka_unit_test(test_shares_are_proportional),
		cmocka_unit_test(test_one_weight_moves_rows_only_to_or_from_its_backend),
		cmocka_unit_test(test_whole_table_equals_the_plain_twin),
		cmocka_unit_test(test_golden_vectors),
		cmocka_unit_test(test_removing_a_backend_changes_only_rows_that_had_it),
		cmocka_unit_test(test_an_added_backend_is_the_only_new_hop_of_a_row),
		cmocka_unit_test(test_hops_of_a_row_are_distinct_and_in_range),
		cmocka_unit_test(test_rebuild_is_identical),
		cmocka_unit_test(test_threads_build_the_same_rows),
		cmocka_unit_test(test_a_table_with_only_inactive_backends_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
