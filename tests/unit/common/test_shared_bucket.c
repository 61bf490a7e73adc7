/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <cmocka.h>

#include "common/shared_bucket.h"

enum { RATE = 10, SIZE = 3, SECOND = 1000, INTERVAL = SECOND / RATE, THREADS = 4 };

static uint32_t take_all(struct shared_bucket *bucket, uint64_t now)
{
	uint32_t count = 0;

	while (shared_bucket_take(bucket, now))
		count++;
	return count;
}

static void test_a_new_bucket_is_full_at_any_time(void **state)
{
	(void)state;
	for (uint64_t now = 0; now < UINT64_MAX / 2; now = 3 * now + 1) {
		struct shared_bucket bucket = shared_bucket_full(RATE, SIZE, SECOND);

		assert_int_equal(take_all(&bucket, now), SIZE);
	}
}

static void test_it_gets_a_token_in_each_interval_and_no_more_than_its_size(void **state)
{
	struct shared_bucket bucket = shared_bucket_full(RATE, SIZE, SECOND);
	uint64_t now = 5000;

	(void)state;
	take_all(&bucket, now);
	assert_int_equal(take_all(&bucket, now + INTERVAL - 1), 0);
	assert_int_equal(take_all(&bucket, now + INTERVAL), 1);
	assert_int_equal(take_all(&bucket, now + 3 * INTERVAL), 2);
	assert_int_equal(take_all(&bucket, now + 100 * INTERVAL), SIZE);
}

static void test_a_flood_gets_the_rate(void **state)
{
	struct shared_bucket bucket = shared_bucket_full(RATE, SIZE, SECOND);
	uint32_t count = 0;

	(void)state;
	for (uint64_t now = 1; now <= 100 * SECOND; now++)
		count += take_all(&bucket, now);
	assert_in_range(count, 100 * RATE + SIZE - 1, 100 * RATE + SIZE);
}

static void test_rate_zero_gives_nothing(void **state)
{
	struct shared_bucket bucket = shared_bucket_full(0, SIZE, SECOND);

	(void)state;
	assert_int_equal(take_all(&bucket, 0), 0);
	assert_int_equal(take_all(&bucket, UINT64_MAX), 0);
}

static void test_a_rate_above_the_clock_gives_one_per_tick(void **state)
{
	struct shared_bucket bucket = shared_bucket_full(10 * SECOND, SIZE, SECOND);

	(void)state;
	take_all(&bucket, 50);
	assert_int_equal(take_all(&bucket, 51), 1);
}

/* A virtual machine that moves to another host may see its clock go back by days. */
static void test_the_bucket_is_full_after_the_clock_went_back(void **state)
{
	struct shared_bucket bucket = shared_bucket_full(RATE, SIZE, SECOND);

	(void)state;
	take_all(&bucket, UINT64_C(1) << 40);
	assert_int_equal(take_all(&bucket, 7), SIZE);
}

/* The clocks of two cores differ a little. */
static void test_a_slightly_older_time_gives_no_extra_token(void **state)
{
	struct shared_bucket bucket = shared_bucket_full(RATE, SIZE, SECOND);

	(void)state;
	take_all(&bucket, 5000);
	assert_int_equal(take_all(&bucket, 5000 - INTERVAL), 0);
}

static void *take_many(void *argument)
{
	uintptr_t count = 0;

	for (unsigned i = 0; i < 20000; i++)
		count += shared_bucket_take(argument, 1);
	return (void *)count;
}

static void test_threads_share_the_tokens(void **state)
{
	struct shared_bucket bucket = shared_bucket_full(SECOND, 30000, SECOND);
	pthread_t threads[THREADS];
	uintptr_t sum = 0;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_many, &bucket), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *count;

		pthread_join(threads[i], &count);
		sum += (uintptr_t)count;
	}
	assert_int_equal(sum, 30000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_new_bucket_is_full_at_any_time),
		cmocka_unit_test(test_it_gets_a_token_in_each_interval_and_no_more_than_its_size),
		cmocka_unit_test(test_a_flood_gets_the_rate),
		cmocka_unit_test(test_rate_zero_gives_nothing),
		cmocka_unit_test(test_a_rate_above_the_clock_gives_one_per_tick),
		cmocka_unit_test(test_the_bucket_is_full_after_the_clock_went_back),
		cmocka_unit_test(test_a_slightly_older_time_gives_no_extra_token),
		cmocka_unit_test(test_threads_share_the_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
