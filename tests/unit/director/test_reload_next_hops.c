/* SPDX-License-Identifier: BSD-3-Clause */
/* Next hops are built for each port, replaced without waiting, and freed when no worker uses them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <cmocka.h>

#include "director/reload/reload_next_hops.h"

enum { PORTS = 3, WORKER = 0 };

static struct rte_rcu_qsbr *qsbr;
static struct live_table live;
static struct worker_shared shared;
static struct reload reload;
static uint16_t fails_at; /* the port for which make() has no memory */

static struct next_hops *make(void *context, const struct routes *routes, uint16_t port)
{
	assert_ptr_equal(context, &reload);
	assert_ptr_equal(routes, live.routes);
	return port == fails_at ? NULL : next_hops_create_single(100u + port);
}

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(posix_memalign((void **)&qsbr, RTE_CACHE_LINE_SIZE, rte_rcu_qsbr_get_memsize(1)), 0);
	rte_rcu_qsbr_init(qsbr, 1);
	rte_rcu_qsbr_thread_register(qsbr, WORKER);
	rte_rcu_qsbr_thread_online(qsbr, WORKER);
	shared = (struct worker_shared){.live = &live, .qsbr = qsbr};
	reload = (struct reload){.shared = &shared, .next_hops = make, .next_hops_context = &reload, .port_count = PORTS};
	fails_at = UINT16_MAX;
	live = (struct live_table){0};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	reload_next_hops_free(&live);
	free(qsbr);
	return 0;
}

static void test_each_port_gets_its_next_hops(void **state)
{
	(void)state;
	assert_int_equal(reload_next_hops_build(&reload, &live), 0);
	for (unsigned port = 0; port < PORTS; port++)
		assert_int_equal(live.next_hops[port]->mac, 100 + port);
	assert_null(live.next_hops[PORTS]);
}

static void test_without_memory_for_one_port_the_table_is_not_used(void **state)
{
	(void)state;
	fails_at = 1;
	assert_int_equal(reload_next_hops_build(&reload, &live), -ENOMEM);
}

static unsigned retired(void)
{
	unsigned count = 0;

	for (const struct reload_retired *at = reload.retired; at; at = at->next)
		count++;
	return count;
}

static void test_replaced_next_hops_live_until_the_worker_is_quiescent(void **state)
{
	struct next_hops *first;

	(void)state;
	assert_int_equal(reload_next_hops_build(&reload, &live), 0);
	first = live.next_hops[1];
	reload_next_hops_publish(&reload, 1, next_hops_create_single(7));
	reload_next_hops_publish(&reload, 1, next_hops_create_single(8)); /* it does not wait */
	assert_int_equal(retired(), 2);
	assert_int_equal(first->mac, 101); /* a worker may still read it */
	assert_int_equal(live.next_hops[1]->mac, 8);
	assert_int_equal(live.next_hops[0]->mac, 100);
	reload_next_hops_collect(&reload);
	assert_int_equal(retired(), 2);
	rte_rcu_qsbr_quiescent(qsbr, WORKER);
	reload_next_hops_publish(&reload, 2, next_hops_create_single(9)); /* it frees the earlier ones, not its own */
	assert_int_equal(retired(), 1);
	rte_rcu_qsbr_thread_offline(qsbr, WORKER); /* the worker sleeps or has ended */
	reload_next_hops_collect(&reload);
	assert_int_equal(retired(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_port_gets_its_next_hops, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_without_memory_for_one_port_the_table_is_not_used, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_replaced_next_hops_live_until_the_worker_is_quiescent, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
