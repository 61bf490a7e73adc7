/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: the progress of workers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "director/health/health_watch.h"
#include "worker/worker.h"

static struct worker worker;
static const struct workers workers = {.count = 1, .list = {&worker}};

/* Returns whether the worker seems stuck, in the result of the sample and in the report. */
static bool seems_stuck(struct health_watch *watch, uint64_t now_ms)
{
	struct health_report report = {0};
	bool alive = health_workers_sample(watch, now_ms);

	health_workers(watch, &report);
	assert_int_equal(report.count, !alive);
	return !alive;
}

static void test_two_ticks_in_quick_succession_do_not_decide(void **state)
{
	struct health_watch watch = {.workers = &workers};

	(void)state;
	worker.counters.polls = 1;
	assert_false(seems_stuck(&watch, 10000));
	worker.counters.polls = 2;
	assert_false(seems_stuck(&watch, 11970)); /* a late tick */
	assert_false(seems_stuck(&watch, 12000)); /* the worker sleeps */
	assert_true(seems_stuck(&watch, 13000));
	assert_true(seems_stuck(&watch, 14970));
	worker.counters.polls = 3;
	assert_true(seems_stuck(&watch, 15000));
	assert_false(seems_stuck(&watch, 16000));
}

/* Two ticks of a short watchdog are closer to each other than two samples. */
static void test_many_quick_ticks_find_a_stuck_worker(void **state)
{
	struct health_watch watch = {.workers = &workers};
	uint64_t now_ms = 10000;

	(void)state;
	worker.counters.polls = 1;
	while (now_ms < 20000 && !seems_stuck(&watch, now_ms))
		now_ms += 10;
	assert_int_equal(now_ms, 10400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_ticks_in_quick_succession_do_not_decide),
		cmocka_unit_test(test_many_quick_ticks_find_a_stuck_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
