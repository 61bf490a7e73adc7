/* SPDX-License-Identifier: BSD-3-Clause */
/* The matcher of rows and proxies, with small random markets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/rows/table_match.h"
#include "tests/unit/table_helpers.h"

enum { ROWS = 200, PROXIES = 12 };

struct market {
	uint64_t scores[PROXIES][ROWS];
	uint32_t wishes[ROWS][PROXIES]; /* proxies in the row's order of preference */
	uint32_t wish_count[ROWS];
	uint32_t caps[PROXIES];
	uint32_t tried[ROWS];
	uint32_t proposals;
};

static bool next_wish(void *context, uint32_t row, struct table_proposal *proposal)
{
	struct market *market = context;

	if (market->tried[row] == market->wish_count[row])
		return false;
	market->proposals++;
	proposal->proxy = market->wishes[row][market->tried[row]++];
	proposal->score = market->scores[proposal->proxy][row];
	return true;
}

static void shuffle(uint32_t *items, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = random_below(i), item = items[other];

		items[other] = items[i - 1];
		items[i - 1] = item;
	}
}

/* Scores are often equal, so that row numbers decide. slack: free places, 0 or less if some rows find none. */
static void random_market(struct market *market, int slack)
{
	int places = ROWS + slack;

	*market = (struct market){0};
	for (uint32_t row = 0; row < ROWS; row++) {
		for (uint32_t p = 0; p < PROXIES; p++) {
			market->wishes[row][p] = p;
			market->scores[p][row] = random_below(ROWS / 2);
		}
		shuffle(market->wishes[row], PROXIES);
		market->wish_count[row] = slack < 0 ? random_below(PROXIES + 1) : PROXIES;
	}
	for (uint32_t p = 0; p + 1 < PROXIES; p++) {
		market->caps[p] = random_below((uint32_t)places / 6);
		places -= (int)market->caps[p];
	}
	market->caps[PROXIES - 1] = places > 0 ? (uint32_t)places : 0;
}

static void run(struct market *market, const uint32_t *order, uint32_t matched[ROWS])
{
	struct table_match_job job = {ROWS, PROXIES, market->caps, next_wish, market};

	memset(market->tried, 0, sizeof(market->tried));
	assert_int_equal(table_match(&job, order, matched), 0);
}

/* Returns the row that the proxy likes least among those that it has, and how many it has. */
static uint32_t least_liked(const struct market *market, const uint32_t *matched, uint32_t proxy, uint32_t *count)
{
	uint32_t least = 0;

	*count = 0;
	for (uint32_t row = 0; row < ROWS; row++)
		if (matched[row] == proxy &&
			((*count)++ == 0 || market->scores[proxy][row] >= market->scores[proxy][least]))
			least = row;
	return least;
}

/* A row and a proxy block a matching if both prefer each other to what they have. */
static void assert_stable(const struct market *market, const uint32_t *matched)
{
	uint32_t least[PROXIES], counts[PROXIES];

	for (uint32_t p = 0; p < PROXIES; p++) {
		least[p] = least_liked(market, matched, p, &counts[p]);
		assert_true(counts[p] <= market->caps[p]);
	}
	for (uint32_t row = 0; row < ROWS; row++) {
		for (uint32_t i = 0; i < market->wish_count[row] && market->wishes[row][i] != matched[row]; i++) {
			uint32_t p = market->wishes[row][i];
			uint64_t mine = market->scores[p][row], worst = market->scores[p][least[p]];

			/* The row prefers p, so p must be full of rows that it prefers to this one. */
			assert_int_equal(counts[p], market->caps[p]);
			if (counts[p])
				assert_true(worst < mine || (worst == mine && least[p] < row));
		}
	}
}

static void test_matching_is_stable(void **state)
{
	static struct market market;
	uint32_t matched[ROWS], unmatched = 0;

	(void)state;
	for (int round = 0; round < 60; round++) {
		random_market(&market, round % 3 * 5 - 5);
		run(&market, NULL, matched);
		assert_stable(&market, matched);
		for (uint32_t row = 0; row < ROWS; row++) {
			unmatched += matched[row] == TABLE_MATCH_NONE;
			if (round % 3)
				assert_int_not_equal(matched[row], TABLE_MATCH_NONE);
		}
		/* Rows really competed. */
		assert_true(market.proposals > ROWS / 2);
	}
	assert_true(unmatched > 0);
}

static void test_order_of_proposals_does_not_matter(void **state)
{
	static struct market market;
	uint32_t matched[ROWS], again[ROWS], order[ROWS];

	(void)state;
	for (uint32_t row = 0; row < ROWS; row++)
		order[row] = row;
	for (int round = 0; round < 30; round++) {
		random_market(&market, round % 3 * 5 - 5);
		run(&market, NULL, matched);
		for (int times = 0; times < 20; times++) {
			shuffle(order, ROWS);
			run(&market, order, again);
			assert_memory_equal(again, matched, sizeof(matched));
		}
	}
}

/* Without the rest of the world: the first wish, unless the cap is in the way. */
static void test_rows_get_their_first_wish_if_nobody_is_full(void **state)
{
	static struct market market;
	uint32_t matched[ROWS];

	(void)state;
	random_market(&market, 0);
	for (uint32_t p = 0; p < PROXIES; p++)
		market.caps[p] = UINT32_MAX;
	run(&market, NULL, matched);
	for (uint32_t row = 0; row < ROWS; row++)
		assert_int_equal(matched[row], market.wishes[row][0]);
	assert_int_equal(market.proposals, ROWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matching_is_stable),
		cmocka_unit_test(test_order_of_proposals_does_not_matter),
		cmocka_unit_test(test_rows_get_their_first_wish_if_nobody_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
