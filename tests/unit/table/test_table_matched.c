/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of tables with balance and previous states: compared with a plain twin, and what operators rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/byteorder.h"
#include "table/rows/table_build.h"
#include "table/rows/table_weight.h"
#include "tests/unit/table/matched_helpers.h"

#define GONE      UINT16_MAX
#define TWIN_SIZE 24 /* backends of a state, at most */
#define ROW_BYTES (sizeof(uint16_t) * TABLE_ROWS)

/* The plain twin of one state: docs/reference/table-rows.md#matching, with full sorts. */
struct twin {
	uint32_t count;
	struct table_past_backend backends[TWIN_SIZE];
	struct table_rank ranks[TABLE_ROWS][TWIN_SIZE];
	uint8_t order[TABLE_ROWS][TWIN_SIZE];
	uint8_t tried[TABLE_ROWS];
	uint8_t matched[TABLE_ROWS]; /* TWIN_SIZE: none yet */
};

static const struct twin *sorted_twin;
static uint32_t sorted_by;

static int compare_natural(const void *a, const void *b)
{
	const struct table_rank *ranks = sorted_twin->ranks[sorted_by];
	uint8_t x = *(const uint8_t *)a, y = *(const uint8_t *)b;

	return table_rank_before(&ranks[x], &ranks[y]) ? -1 : table_rank_before(&ranks[y], &ranks[x]);
}

static int compare_rows(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t x_score = sorted_twin->ranks[x][sorted_by].score, y_score = sorted_twin->ranks[y][sorted_by].score;

	if (x_score != y_score)
		return x_score < y_score ? -1 : 1;
	return x < y ? -1 : 1;
}

static void twin_order(struct twin *twin, const uint8_t *seed)
{
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		for (uint8_t i = 0; i < twin->count; i++) {
			twin->ranks[row][i] =
				table_rank_of(twin_score(seed, row, &twin->backends[i].addr), twin->backends[i].weight);
			twin->order[row][i] = i;
		}
		sorted_twin = twin;
		sorted_by = row;
		qsort(twin->order[row], twin->count, 1, compare_natural);
	}
}

/* Rejects the rows that the backend likes least. Returns how many. */
static uint32_t twin_reject(struct twin *twin, uint8_t backend, uint64_t cap)
{
	static uint32_t rows[TABLE_ROWS];
	uint32_t count = 0;

	for (uint32_t row = 0; row < TABLE_ROWS; row++)
		if (twin->matched[row] == backend)
			rows[count++] = row;
	if (count <= cap)
		return 0;
	sorted_twin = twin;
	sorted_by = backend;
	qsort(rows, count, sizeof(*rows), compare_rows);
	for (uint32_t i = (uint32_t)cap; i < count; i++)
		twin->matched[rows[i]] = TWIN_SIZE;
	return count - (uint32_t)cap;
}

/* All free rows propose, then all backends reject, until no row is free. */
static void twin_match(struct twin *twin, unsigned balance)
{
	uint64_t sum = 0;
	uint32_t rejected = twin->count;

	for (uint32_t i = 0; i < twin->count; i++)
		sum += twin->backends[i].weight;
	memset(twin->tried, 0, sizeof(twin->tried));
	memset(twin->matched, TWIN_SIZE, sizeof(twin->matched));
	while (rejected) {
		for (uint32_t row = 0; row < TABLE_ROWS; row++)
			if (twin->matched[row] == TWIN_SIZE)
				twin->matched[row] = twin->order[row][twin->tried[row]++];
		rejected = 0;
		for (uint8_t i = 0; i < twin->count && balance; i++) {
			uint64_t share = (uint64_t)balance * TABLE_ROWS * twin->backends[i].weight;

			rejected += twin_reject(twin, i, share / (1000 * sum) + (share % (1000 * sum) != 0));
		}
	}
}

static uint16_t find_backend(const struct table *table, const struct netaddr *addr)
{
	for (uint16_t i = 0; i < table->backend_count; i++)
		if (netaddr_compare(&table->backends[i].addr, addr) == 0 && table->backends[i].state != TABLE_INACTIVE)
			return i;
	return GONE;
}

/* Returns the twin's backend that was the first hop of the row: the one that is matched, if it is healthy. */
static uint16_t twin_holder(const struct twin *twin, const struct table *table, uint32_t row)
{
	const struct table_past_backend *holder = &twin->backends[twin->matched[row]];

	for (uint32_t i = 0; !holder->healthy && i < twin->count; i++)
		if (twin->backends[twin->order[row][i]].healthy)
			holder = &twin->backends[twin->order[row][i]];
	return holder->healthy ? find_backend(table, &holder->addr) : GONE;
}

/* Writes the holders of a state: 0 is the table itself. */
static void twin_state(struct twin *twin, const struct table *table, unsigned state, uint16_t matched[TABLE_ROWS])
{
	const struct table_past *past = state ? &table->past[state - 1] : NULL;

	twin->count = 0;
	for (uint32_t i = 0; i < (past ? past->backend_count : table->backend_count); i++) {
		const struct table_backend *backend = &table->backends[i];

		if (past)
			twin->backends[twin->count++] = past->backends[i];
		else if (backend->state == TABLE_ACTIVE || backend->state == TABLE_FILLING)
			twin->backends[twin->count++] = (struct table_past_backend){
				.addr = backend->addr, .weight = backend->weight, .healthy = true};
	}
	memset(matched, 0xff, ROW_BYTES);
	if (!twin->count)
		return;
	twin_order(twin, table->seed);
	twin_match(twin, past ? past->balance : table->balance);
	for (uint32_t row = 0; row < TABLE_ROWS; row++)
		matched[row] = twin_holder(twin, table, row);
}

static bool is_in(const uint16_t *hops, unsigned count, uint16_t backend)
{
	while (count > 0)
		if (hops[--count] == backend)
			return true;
	return false;
}

/* A table with the same seed and backends, but without balance and previous states. */
static void copy_plain(struct table *to, const struct table *from, uint8_t hops)
{
	random_table(to, from->backend_count, 0, hops, NETADDR_V4, ALL_GOOD);
	memcpy(to->seed, from->seed, sizeof(from->seed));
	memcpy(to->backends, from->backends, from->backend_count * sizeof(*from->backends));
}

/* Bubbles each unhealthy hop behind the healthy ones. */
static void healthy_first(const struct table *table, uint16_t *hops, unsigned count)
{
	for (unsigned end = count; end > 1; end--) {
		for (unsigned i = 1; i < end; i++) {
			uint16_t before = hops[i - 1], after = hops[i];

			if (!table->backends[before].healthy && table->backends[after].healthy) {
				hops[i - 1] = after;
				hops[i] = before;
			}
		}
	}
}

/* Adds backends that the row does not have yet: those with this health. Returns the number of hops. */
static unsigned add_hops(const struct table *table, uint16_t *hops, unsigned count, uint16_t backend, bool healthy)
{
	if (backend != GONE && table->backends[backend].healthy == healthy && !is_in(hops, count, backend))
		hops[count++] = backend;
	return count;
}

/* matched: [state][row]. twin: the natural order of all that can be hops. plain: the table without balance and previous
 * states. */
static void assert_row(const struct table *table, const struct table *plain, const struct twin *twin,
	uint16_t (*matched)[TABLE_ROWS], uint32_t row)
{
	uint16_t expected[TWIN_SIZE];
	unsigned count = 1;

	expected[0] = matched[0][row] != GONE && table->backends[matched[0][row]].healthy
			      ? matched[0][row]
			      : plain->rows[row * plain->row_hops];
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned s = 0; s <= table->past_count; s++)
			count = add_hops(table, expected, count, matched[s][row], pass == 0);
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < twin->count; i++)
			count = add_hops(table, expected, count,
				find_backend(table, &twin->backends[twin->order[row][i]].addr), pass == 0);
	healthy_first(table, expected + 1, table->row_hops - 1u);
	assert_memory_equal(table->rows + row * table->row_hops, expected, sizeof(*expected) * table->row_hops);
}

static void test_rows_equal_the_plain_twin(void **state)
{
	static uint16_t matched[1 + TABLE_MAX_PAST][TABLE_ROWS];
	static struct twin twin;

	(void)state;
	for (uint32_t round = 0; round < 6; round += STEP) {
		struct table_set set = random_set(2);
		struct table *table = &set.tables[0];

		backend_family = round & 2 ? NETADDR_V6 : NETADDR_V4;
		random_matched_table(
			table, 1 + round * 4, (uint8_t)(2 + round), round % 4, round % 2 ? ALL_GOOD : ANY_STATE);
		copy_plain(&set.tables[1], table, TABLE_MAX_HOPS);
		table->balance = round % 3 ? (uint16_t)(1005 + round * 10) : table->balance;
		if (!table_is_matched(table))
			table->balance = 1020;
		assert_int_equal(table_build(&set, 1), 0);
		for (unsigned s = 0; s <= table->past_count; s++)
			twin_state(&twin, table, s, matched[s]);
		twin.count = 0;
		for (uint32_t i = 0; i < table->backend_count; i++)
			if (table->backends[i].state != TABLE_INACTIVE)
				twin.backends[twin.count++] = (struct table_past_backend){.addr = table->backends[i].addr,
					.weight = table->backends[i].weight,
					.healthy = true};
		twin_order(&twin, table->seed);
		for (uint32_t row = 0; row < TABLE_ROWS; row++)
			assert_row(table, &set.tables[1], &twin, matched, row);
		table_set_free(&set);
	}
}

static void test_no_backend_is_first_in_more_rows_than_its_cap(void **state)
{
	static const uint16_t balances[] = {1005, 1020, 1100, 2000};

	(void)state;
	for (size_t b = 0; b < sizeof(balances) / sizeof(balances[0]); b++) {
		struct table_set set = random_set(1);
		struct table *table = &set.tables[0];
		uint32_t first[64] = {0};
		uint64_t sum = 0;

		random_matched_table(table, 64, 3, 0, ALL_GOOD);
		table->balance = balances[b];
		assert_int_equal(table_build(&set, 1), 0);
		for (uint32_t row = 0; row < TABLE_ROWS; row++)
			first[table->rows[row * 3]]++;
		for (uint32_t i = 0; i < 64; i++)
			sum += table->backends[i].weight;
		for (uint32_t i = 0; i < 64; i++)
			assert_true(first[i] == 0 || (first[i] - 1) * 1000 * sum < (uint64_t)balances[b] * TABLE_ROWS *
											   table->backends[i].weight);
		table_set_free(&set);
	}
}

/* 1.005 * 65536 * 25 / 1024 is 1608 without a remainder, so the cap is not one more. */
static void test_caps_are_exact(void **state)
{
	uint32_t reached = 0;

	(void)state;
	for (unsigned round = 0; round < 12; round += STEP) {
		struct table_set set = random_set(2);
		struct table *table = &set.tables[0];
		uint32_t first = 0, natural = 0;

		random_table(table, 2, 0, 2, NETADDR_V4, ALL_GOOD);
		table->backends[0].weight = 25;
		table->backends[1].weight = 999;
		copy_plain(&set.tables[1], table, 2);
		table->balance = 1005;
		assert_int_equal(table_build(&set, 1), 0);
		for (uint32_t row = 0; row < TABLE_ROWS; row++) {
			first += table->rows[row * 2] == 0;
			natural += set.tables[1].rows[row * 2] == 0;
		}
		assert_true(first <= 1608);
		assert_true(natural < 1608 || first == 1608);
		reached += natural > 1608;
		table_set_free(&set);
	}
	assert_true(reached > 0);
}

/* A state that is the present one adds nothing, and neither does one in which nobody took new connections. */
static void test_a_previous_state_like_the_present_changes_nothing(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 4; round += STEP) {
		struct table_set set = random_set(2);
		struct table *table = &set.tables[0], *plain = &set.tables[1];

		random_matched_table(table, 20, 4, 2, ALL_GOOD);
		copy_plain(plain, table, 4);
		table->balance = 0;
		for (unsigned p = 0; p < 2; p++) {
			table->past[p].balance = 0;
			table->past[p].backend_count = p ? 0 : 20;
		}
		free(table->past[0].backends);
		table->past[0].backends = calloc(20, sizeof(struct table_past_backend));
		for (uint32_t i = 0; i < 20; i++)
			table->past[0].backends[19 - i] = (struct table_past_backend){
				.addr = table->backends[i].addr, .weight = table->backends[i].weight, .healthy = true};
		if (round % 2)
			plain->past_count = 0;
		assert_int_equal(table_build(&set, 1), 0);
		assert_memory_equal(table->rows, plain->rows, 4 * ROW_BYTES);
		table_set_free(&set);
	}
}

static void copy_past(struct table *to, const struct table *from)
{
	to->balance = from->balance;
	to->past_count = from->past_count;
	to->past = calloc(from->past_count + 1, sizeof(*to->past));
	for (uint32_t p = 0; p < from->past_count; p++) {
		size_t size = from->past[p].backend_count * sizeof(*to->past->backends);

		to->past[p] = from->past[p];
		to->past[p].backends = malloc(size + 1);
		memcpy(to->past[p].backends, from->past[p].backends, size);
	}
}

/* In a row that does not have the backend, nothing changes. In others it may go behind the healthy hops, or leave. */
static void test_a_flap_changes_only_rows_of_its_backend(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 8; round += STEP) {
		struct table_set set = random_set(2);
		struct table *well = &set.tables[0], *ill = &set.tables[1];
		uint32_t owned = 0, reordered = 0;

		random_matched_table(well, 24, (uint8_t)(2 + round % 7), round % 3, ALL_GOOD);
		well->balance = round % 4 ? 1010 : 0;
		well->backends[7].healthy = well->backends[8].healthy = round % 2;
		if (!table_is_matched(well))
			well->balance = 1200;
		copy_plain(ill, well, well->hops);
		copy_past(ill, well);
		ill->backends[5].healthy = false;
		assert_int_equal(table_build(&set, 1), 0);
		for (uint32_t row = 0; row < TABLE_ROWS; row++) {
			const uint16_t *before = well->rows + row * well->row_hops;
			const uint16_t *after = ill->rows + row * well->row_hops;

			assert_int_not_equal(after[0], 5);
			owned += before[0] == 5;
			if (before[0] == 5)
				continue;
			assert_int_equal(before[0], after[0]);
			for (unsigned i = 0; i < well->row_hops; i++)
				assert_true(before[i] == 5 || !well->backends[before[i]].healthy ||
					    is_in(after, well->row_hops, before[i]));
			if (!is_in(before, well->row_hops, 5))
				assert_memory_equal(before, after, well->row_hops * sizeof(*after));
			reordered += memcmp(before, after, well->row_hops * sizeof(*after)) != 0;
		}
		assert_true(owned > 0);
		assert_true(well->row_hops == 2 || reordered > 0);
		table_set_free(&set);
	}
}

/* A dead proxy cannot pass packets on. */
static void test_no_healthy_hop_stands_behind_an_unhealthy_one(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 8; round += STEP) {
		struct table_set set = random_set(1);
		struct table *ill = &set.tables[0];
		uint32_t unhealthy = 0;

		random_matched_table(ill, 24, (uint8_t)(2 + round % 7), 1 + round % 4, ANY_STATE);
		assert_int_equal(table_build(&set, 1), 0);
		for (uint32_t row = 0; row < TABLE_ROWS; row++) {
			const uint16_t *hops = ill->rows + row * ill->row_hops;

			for (unsigned i = 2; i < ill->row_hops; i++)
				assert_true(ill->backends[hops[i - 1]].healthy || !ill->backends[hops[i]].healthy);
			unhealthy += !ill->backends[hops[ill->row_hops - 1]].healthy;
		}
		assert_true(unhealthy > 0);
		table_set_free(&set);
	}
}

static void test_one_weight_moves_rows_only_to_or_from_its_backend(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 4; round += STEP) {
		struct table_set set = random_set(2);
		struct table *before = &set.tables[0], *after = &set.tables[1];
		uint32_t moved = 0;

		random_matched_table(before, 24, 4, 1 + round % 3, ALL_GOOD);
		before->balance = 0;
		copy_plain(after, before, 4);
		copy_past(after, before);
		after->backends[5].weight = before->backends[5].weight == 300 ? 100 : 300;
		assert_int_equal(table_build(&set, 1), 0);
		for (uint32_t row = 0; row < TABLE_ROWS; row++) {
			uint16_t old = before->rows[row * 4], new = after->rows[row * 4];

			assert_true(old == new || old == 5 || new == 5);
			moved += old != new;
		}
		assert_true(moved > 0);
		table_set_free(&set);
	}
}

/* Builds each state as a table of its own, and finds its first hops in the rows of the present one, in this order. */
static void test_rows_list_the_first_hops_of_previous_states(void **state)
{
	enum { PAST = 3, SIZE = 120 };
	struct table_set set = random_set(1 + PAST);
	struct table *table = &set.tables[0];

	(void)state;
	random_matched_table(table, SIZE, 1 + PAST, 0, ALL_GOOD);
	table->balance = 1020;
	free(table->past);
	table->past = calloc(PAST, sizeof(*table->past));
	table->past_count = PAST;
	for (unsigned p = 0; p < PAST; p++) {
		struct table *old = &set.tables[1 + p];

		copy_plain(old, table, 2);
		old->balance = p == 1 ? 0 : 1050;
		for (uint32_t i = 0; i < SIZE; i++)
			old->backends[i].weight = random_weight();
		table->past[p].balance = old->balance;
		table->past[p].backends = calloc(SIZE, sizeof(*table->past->backends));
		for (uint32_t i = 2 * p; i < SIZE; i++)
			table->past[p].backends[table->past[p].backend_count++] = (struct table_past_backend){
				.addr = old->backends[i].addr, .weight = old->backends[i].weight, .healthy = true};
		for (uint32_t i = 0; i < 2 * p; i++)
			old->backends[i].state = TABLE_DRAINING;
	}
	table->backends[SIZE - 1].state = TABLE_INACTIVE;
	assert_int_equal(table_build(&set, 1), 0);
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		const uint16_t *hops = table->rows + row * table->row_hops;
		unsigned at = 1;

		for (unsigned p = 0; p < PAST; p++) {
			const struct table *old = &set.tables[1 + p];
			uint16_t first = old->rows[row * old->row_hops];

			if (first == SIZE - 1)
				assert_false(is_in(hops, table->row_hops, first));
			else if (!is_in(hops, at, first))
				assert_int_equal(hops[at++], first);
		}
	}
	table_set_free(&set);
}

static void test_threads_do_not_matter(void **state)
{
	static uint16_t rows[4][TABLE_ROWS * 5];
	struct table_set set = random_set(4);

	(void)state;
	for (unsigned t = 0; t < 4; t++) {
		random_matched_table(&set.tables[t], 20, 5, 2, ALL_GOOD);
		set.tables[t].balance = 1030;
	}
	set.tables[2].balance = 0;
	set.tables[2].past_count = 0;
	for (unsigned threads = 1; threads <= 8; threads += 7) {
		assert_int_equal(table_build(&set, threads), 0);
		for (unsigned t = 0; t < 4; t++) {
			if (threads == 1)
				memcpy(rows[t], set.tables[t].rows, 5 * ROW_BYTES);
			assert_memory_equal(rows[t], set.tables[t].rows, 5 * ROW_BYTES);
		}
	}
	free(set.tables[2].past[0].backends);
	free(set.tables[2].past[1].backends);
	table_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_equal_the_plain_twin),
		cmocka_unit_test(test_no_backend_is_first_in_more_rows_than_its_cap),
		cmocka_unit_test(test_caps_are_exact),
		cmocka_unit_test(test_a_previous_state_like_the_present_changes_nothing),
		cmocka_unit_test(test_a_flap_changes_only_rows_of_its_backend),
		cmocka_unit_test(test_no_healthy_hop_stands_behind_an_unhealthy_one),
		cmocka_unit_test(test_one_weight_moves_rows_only_to_or_from_its_backend),
		cmocka_unit_test(test_rows_list_the_first_hops_of_previous_states),
		cmocka_unit_test(test_threads_do_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
