/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "healthcheck/core/scheduler.h"

#define ENTRIES 1000

static struct scheduler_entry entries[ENTRIES];

static struct scheduler make(size_t count, unsigned max_running, unsigned interval_ms)
{
	struct scheduler scheduler = {.max_running = max_running};

	assert_true(scheduler_reserve(&scheduler, count));
	for (size_t i = 0; i < count; i++)
		scheduler_add(&scheduler, &entries[i], scheduler_offset(i, count, interval_ms), interval_ms);
	return scheduler;
}

static void test_starts_are_spread_over_the_interval(void **state)
{
	struct scheduler scheduler = make(ENTRIES, ENTRIES, 2000);
	struct scheduler_entry *entry;
	unsigned most = 0;

	(void)state;
	for (uint64_t now = 0; now < 10000; now++) {
		unsigned started = 0;

		for (; (entry = scheduler_start(&scheduler, now)); started++)
			scheduler_done(&scheduler, entry, now);
		most = started > most ? started : most;
	}
	assert_int_equal(most, 1); /* one every 2 ms */
	scheduler_free(&scheduler);
}

static void test_each_entry_starts_once_per_interval(void **state)
{
	struct scheduler scheduler = make(100, 100, 1000);
	unsigned starts[100] = {0};
	struct scheduler_entry *entry;

	(void)state;
	for (uint64_t now = 0; now < 5000; now += 10)
		while ((entry = scheduler_start(&scheduler, now))) {
			starts[entry - entries]++;
			scheduler_done(&scheduler, entry, now + 7);
		}
	for (int i = 0; i < 100; i++)
		assert_int_equal(starts[i], 5);
	scheduler_free(&scheduler);
}

static void test_hanging_entry_does_not_delay_others(void **state)
{
	struct scheduler scheduler = make(2, 2, 100);

	(void)state;
	assert_ptr_equal(scheduler_start(&scheduler, 0), &entries[0]); /* it never ends */
	for (uint64_t now = 50; now < 1000; now += 100) {
		assert_int_equal(scheduler_wait(&scheduler, now - 50), 50);
		assert_null(scheduler_start(&scheduler, now - 1));
		assert_ptr_equal(scheduler_start(&scheduler, now), &entries[1]);
		scheduler_done(&scheduler, &entries[1], now);
	}
	scheduler_free(&scheduler);
}

static void test_missed_starts_are_skipped_and_the_phase_is_kept(void **state)
{
	struct scheduler scheduler = make(1, 1, 100);

	(void)state;
	assert_non_null(scheduler_start(&scheduler, 0));
	scheduler_done(&scheduler, &entries[0], 250);
	assert_int_equal(scheduler_wait(&scheduler, 250), 50);
	assert_non_null(scheduler_start(&scheduler, 300));
	scheduler_done(&scheduler, &entries[0], 400);
	assert_int_equal(scheduler_wait(&scheduler, 400), 0);
	scheduler_free(&scheduler);
}

static void test_no_more_than_max_running_run(void **state)
{
	struct scheduler scheduler = make(3, 2, 30);

	(void)state;
	assert_ptr_equal(scheduler_start(&scheduler, 100), &entries[0]);
	assert_ptr_equal(scheduler_start(&scheduler, 100), &entries[1]);
	assert_int_equal(scheduler_wait(&scheduler, 100), SCHEDULER_NEVER);
	assert_null(scheduler_start(&scheduler, 100));
	assert_int_equal(scheduler.delayed, 1);
	scheduler_done(&scheduler, &entries[0], 100);
	assert_int_equal(scheduler_wait(&scheduler, 100), 0);
	assert_ptr_equal(scheduler_start(&scheduler, 100), &entries[2]);
	scheduler_free(&scheduler);
}

static void test_waiting_and_running_entries_can_be_removed(void **state)
{
	struct scheduler scheduler = make(3, 3, 30);

	(void)state;
	assert_ptr_equal(scheduler_start(&scheduler, 0), &entries[0]);
	scheduler_remove(&scheduler, &entries[0]);
	scheduler_remove(&scheduler, &entries[1]);
	assert_int_equal(scheduler.running, 0);
	assert_ptr_equal(scheduler_start(&scheduler, 1000), &entries[2]);
	assert_null(scheduler_start(&scheduler, 1000));
	scheduler_remove(&scheduler, &entries[2]);
	assert_int_equal(scheduler_wait(&scheduler, 1000), SCHEDULER_NEVER);
	scheduler_free(&scheduler);
}

/* Every start must take the entry with the earliest due time. */
static void test_order_survives_random_use(void **state)
{
	struct scheduler scheduler = {.max_running = ENTRIES};
	uint64_t now = 0, last = 0;

	(void)state;
	srand(1);
	assert_true(scheduler_reserve(&scheduler, ENTRIES));
	for (size_t i = 0; i < ENTRIES; i++)
		scheduler_add(&scheduler, &entries[i], (uint64_t)(rand() % 5000), 1);
	for (size_t i = 0; i < ENTRIES; i += 3)
		scheduler_remove(&scheduler, &entries[i]);
	for (size_t left = scheduler.count; left > 0; now += 10) {
		struct scheduler_entry *entry;

		while ((entry = scheduler_start(&scheduler, now))) {
			assert_true(entry->due_ms >= last && entry->due_ms <= now);
			assert_int_not_equal((entry - entries) % 3, 0);
			last = entry->due_ms;
			left--;
		}
		assert_true(now < 6000);
	}
	scheduler_free(&scheduler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_are_spread_over_the_interval),
		cmocka_unit_test(test_each_entry_starts_once_per_interval),
		cmocka_unit_test(test_hanging_entry_does_not_delay_others),
		cmocka_unit_test(test_missed_starts_are_skipped_and_the_phase_is_kept),
		cmocka_unit_test(test_no_more_than_max_running_run),
		cmocka_unit_test(test_waiting_and_running_entries_can_be_removed),
		cmocka_unit_test(test_order_survives_random_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
