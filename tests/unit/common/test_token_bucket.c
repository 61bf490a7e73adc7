/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/token_bucket.h"

enum { INTERVAL = 10, SIZE = 3 };

static uint32_t take_all(struct token_bucket *bucket)
{
	uint32_t count = 0;

	while (token_bucket_take(bucket))
		count++;
	return count;
}

static uint32_t take_at(struct token_bucket *bucket, uint64_t now)
{
	token_bucket_refill(bucket, now, INTERVAL, SIZE);
	return take_all(bucket);
}

static void test_an_empty_bucket_gives_nothing(void **state)
{
	struct token_bucket bucket = {0};

	(void)state;
	assert_false(token_bucket_take(&bucket));
	assert_int_equal(take_at(&bucket, 0), 0);
	assert_int_equal(take_at(&bucket, INTERVAL - 1), 0);
}

static void test_a_token_comes_with_each_interval(void **state)
{
	struct token_bucket bucket = {.filled_at = 100};

	(void)state;
	assert_int_equal(take_at(&bucket, 110), 1);
	assert_int_equal(take_at(&bucket, 130), 2);
}

static void test_parts_of_an_interval_add_up(void **state)
{
	struct token_bucket bucket = {0};
	uint32_t taken = 0;

	(void)state;
	for (uint64_t now = 0; now <= 1000; now += 7)
		taken += take_at(&bucket, now);
	assert_int_equal(taken, 994 / INTERVAL);
}

static void test_a_full_bucket_stays_full(void **state)
{
	struct token_bucket bucket = {0};

	(void)state;
	assert_int_equal(take_at(&bucket, UINT64_MAX), SIZE);
	bucket = (struct token_bucket){.tokens = SIZE};
	token_bucket_refill(&bucket, 1000, INTERVAL, SIZE);
	assert_int_equal(bucket.tokens, SIZE);
	/* Tokens that do not fit are lost. */
	assert_int_equal(take_all(&bucket), SIZE);
	assert_int_equal(take_at(&bucket, 1000 + INTERVAL - 1), 0);
	assert_int_equal(take_at(&bucket, 1000 + INTERVAL), 1);
}

static void test_a_clock_that_goes_back_adds_nothing(void **state)
{
	struct token_bucket bucket = {.tokens = 1, .filled_at = 1000};

	(void)state;
	assert_int_equal(take_at(&bucket, 500), 1);
	assert_int_equal(take_at(&bucket, 500 + INTERVAL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_bucket_gives_nothing),
		cmocka_unit_test(test_a_token_comes_with_each_interval),
		cmocka_unit_test(test_parts_of_an_interval_add_up),
		cmocka_unit_test(test_a_full_bucket_stays_full),
		cmocka_unit_test(test_a_clock_that_goes_back_adds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
