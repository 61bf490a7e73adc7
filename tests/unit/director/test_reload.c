/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "director/reload/reload_guard.h"
#include "tests/unit/handmade.h"

static void test_close_without_open(void **state)
{
	struct reload reload = {0};

	(void)state;
	reload_close(&reload);
	assert_null(reload.shared);
}

/* Two tables of 3 and 2 backends have traffic. A sample that may look at few backends looks at one of the tables. */
static void test_samples_of_traffic_take_turns(void **state)
{
	struct live_table live = {.slot = {7, 4}};
	struct worker_shared shared = {.live = &live};
	static struct reload reload;
	struct table_set set = {0};
	uint64_t *tallies;

	(void)state;
	handmade_table(&set, 3, 2);
	handmade_table(&set, 2, 2);
	live.routes = handmade_routes(&set);
	assert_true(table_counts_alloc(&live.counts, live.routes, 1));
	tallies = count_rows_of(&live.counts.backends, BACKEND_TALLY, 0);
	reload.shared = &shared;
	pthread_mutex_init(&reload.lock, NULL);
	for (uint32_t t = 0; t < 2; t++)
		tally_add(&tallies[routes_backend(live.routes, t, 1)], 100, 1);
	reload_guard_sample(&reload, 1);
	assert_true(reload.slots[7].traffic.seen && !reload.slots[4].traffic.seen);
	reload_guard_sample(&reload, 1);
	assert_true(reload.slots[4].traffic.seen);
	for (uint32_t t = 0; t < 2; t++) {
		reload.slots[live.slot[t]].traffic.seen = false;
		tally_add(&tallies[routes_backend(live.routes, t, 0)], 100, 1);
	}
	reload_guard_sample(&reload, 1000);
	assert_true(reload.slots[7].traffic.seen && reload.slots[4].traffic.seen);
	reload_guard_sample(&reload, 1000);
	assert_int_equal(reload.slots[7].traffic.packets, 2);
	table_counts_free(&live.counts);
	routes_free(live.routes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close_without_open),
		cmocka_unit_test(test_samples_of_traffic_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
