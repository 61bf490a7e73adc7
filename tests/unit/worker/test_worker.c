/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker on a port whose polls are told beforehand: no frame is lost, late, or before another. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "tests/unit/handmade.h"
#include "worker/worker.h"

enum {
	PORT = RTE_MAX_ETHPORTS - 1,
	POOL_SIZE = 1023,
	MOST_FRAMES = 1024,
	FRAME_SIZE = 74,
};

static struct rte_mempool *pool;
static struct routes *routes;
static struct worker_shared shared;
static struct steering_config steering;
static struct worker worker;
static struct flow_path path;
static struct live_table live;

/* What each poll finds; the last one stops the worker. */
static const uint16_t *script;
static unsigned polls, polls_done;
static uint32_t received, sent;
static unsigned found_by[MOST_FRAMES], sent_after[MOST_FRAMES]; /* so many polls, by the frame's number */
static struct rte_ring *stuck; /* is full after the first poll, and stays so */
static uint64_t token; /* of RCU, from the first poll */
static bool quiescent; /* since then, as the last poll sees it */

/* Of how many frames one is IPv6: the last; 0: none is. */
static uint32_t v6_every;
static uint32_t last_sent[2]; /* of IPv4, of IPv6: so many frames, with those before */
static unsigned full_of_one_family; /* bursts that were sent */

static bool is_v6(uint32_t number)
{
	return v6_every && number % v6_every == v6_every - 1;
}

/* TCP to where no table is; its number in place of a MAC. */
static struct rte_mbuf *unmatched_frame(uint32_t number)
{
	static const uint8_t headers[2][FRAME_SIZE] = {
		{[12] = 0x08, [14] = 0x45, [17] = FRAME_SIZE - 14, [22] = 64, [23] = IPPROTO_TCP},
		{[12] = 0x86, [13] = 0xdd, [14] = 0x60, [19] = FRAME_SIZE - 54, [20] = IPPROTO_TCP, [21] = 64}};
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	char *frame = rte_pktmbuf_append(mbuf, FRAME_SIZE);

	memcpy(frame, headers[is_v6(number)], FRAME_SIZE);
	memcpy(frame, &number, sizeof(number));
	return mbuf;
}

static uint16_t receive(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	uint16_t found = script[polls_done];

	(void)queue;
	assert_true(found <= count);
	if (polls_done == 0)
		token = rte_rcu_qsbr_start(shared.qsbr);
	quiescent = rte_rcu_qsbr_check(shared.qsbr, token, false) == 1;
	while (stuck && rte_ring_sp_enqueue(stuck, stuck) == 0)
		;
	if (++polls_done == polls)
		shared.stop = true;
	for (uint16_t i = 0; i < found; i++) {
		found_by[received] = polls_done;
		mbufs[i] = unmatched_frame(received++);
	}
	return found;
}

/* Those of a family in the order of arrival. */
static uint16_t take(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	unsigned v6 = 0;

	(void)queue;
	for (uint16_t i = 0; i < count; i++) {
		uint32_t number;

		memcpy(&number, rte_pktmbuf_mtod(mbufs[i], void *), sizeof(number));
		assert_in_range(number, last_sent[is_v6(number)], received - 1);
		last_sent[is_v6(number)] = number + 1;
		v6 += is_v6(number);
		sent_after[number] = polls_done;
		rte_pktmbuf_free(mbufs[i]);
	}
	sent += count;
	full_of_one_family += count == QUEUE_BURST && v6 % QUEUE_BURST == 0;
	return count;
}

static void start(const uint16_t *found, unsigned count)
{
	script = found;
	polls = count;
	polls_done = 0;
	received = sent = 0;
	last_sent[0] = last_sent[1] = 0;
	full_of_one_family = 0;
	path.split_left = 0;
	shared.stop = false;
	worker.counters = (struct counters){0};
}

static void run(const uint16_t *found, unsigned count)
{
	start(found, count);
	worker_run(&worker);
	assert_int_equal(polls_done, polls);
	assert_int_equal(sent, received);
	assert_int_equal(worker.counters.received, received);
	assert_int_equal(worker.counters.verdicts[VERDICT_EXCEPTION], received);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}
#define RUN(...) run((const uint16_t[]){__VA_ARGS__}, sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

static void test_frames_leave_in_the_order_of_arrival(void **state)
{
	(void)state;
	RUN(64, 3, 64, 64, 0, 1, 0, 0, 2, 1, 64, 0);
}

static void test_a_frame_leaves_at_the_next_poll_even_if_that_is_empty(void **state)
{
	(void)state;
	RUN(1, 0, 0, 0);
	assert_int_equal(sent_after[0], 2);
}

static void test_a_burst_leaves_when_the_next_is_received(void **state)
{
	(void)state;
	RUN(64, 1, 0);
	assert_int_equal(sent_after[63], 2);
	assert_int_equal(sent_after[64], 3);
}

static void test_what_is_held_leaves_before_the_end(void **state)
{
	(void)state;
	RUN(64);
	RUN(5, 64);
	v6_every = 2;
	RUN(64, 64, 64);
	v6_every = 0;
}

static void test_a_reload_need_not_wait_for_silence(void **state)
{
	(void)state;
	RUN(64, 64, 64);
	assert_true(quiescent);
}

static void test_empty_polls_are_counted_and_others_not(void **state)
{
	(void)state;
	RUN(64, 0, 0, 1, 0);
	assert_int_equal(worker.counters.polls, 5);
	assert_int_equal(worker.counters.empty_polls, 3);
}

static void test_full_bursts_of_both_families_are_steered_apart(void **state)
{
	(void)state;
	v6_every = 2;
	RUN(64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 0);
	v6_every = 0;
	/* the first tells that there are both; the last finds the port empty */
	assert_int_equal(full_of_one_family, 8);
}

static void test_the_few_of_a_family_wait_for_a_few_rounds(void **state)
{
	(void)state;
	v6_every = 64;
	RUN(64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 0);
	v6_every = 0;
	assert_int_equal(sent_after[63], 2);
	for (uint32_t number = 127; number < received; number += 64)
		assert_in_range(sent_after[number], found_by[number] + 1, found_by[number] + 4);
	assert_int_equal(sent_after[127], found_by[127] + 4);
}

static void test_none_waits_for_its_family_when_the_port_is_not_full(void **state)
{
	(void)state;
	v6_every = 2;
	RUN(64, 64, 64, 63, 63, 64, 0, 0);
	v6_every = 0;
	for (uint32_t number = 0; number < received; number++) /* the next poll was full as well */
		assert_int_equal(sent_after[number], found_by[number] + (found_by[number] == 2 ? 2 : 1));
}

/* One that has all flows for itself. */
static void test_a_distributor_holds_no_longer(void **state)
{
	(void)state;
	path.kind = FLOW_PATH_DISTRIBUTE;
	path.distributor = distribute_create(0, true);
	assert_non_null(path.distributor);
	RUN(64, 3, 64, 0, 1, 0);
	for (uint32_t number = 0; number < received; number++)
		assert_int_equal(sent_after[number], found_by[number] + 1);
	RUN(5, 64);
	rte_free(path.distributor);
	path.kind = FLOW_PATH_STEER;
	path.distributor = NULL;
}

/* A ring back to the distributor has no room for what the first poll found; another queue is empty. */
static void test_an_lcore_that_holds_frames_does_not_sleep(void **state)
{
	static uint16_t found[300] = {64};
	struct flow_path paths[2] = {path, path};

	(void)state;
	stuck = rte_ring_create("stuck", 512, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	assert_non_null(stuck);
	paths[0].exception.ring = stuck;
	assert_int_equal(idle_open(&worker.idle, true), 0);
	worker.paths = paths;
	worker.path_count = 2;
	start(found, RTE_DIM(found));
	worker_run(&worker);
	assert_int_equal(polls_done, polls);
	assert_int_equal(worker.counters.sleeps, 0);
	assert_int_equal(worker.counters.verdicts[VERDICT_DROP_EXCEPTION_FULL], 64);
	idle_close(&worker.idle);
	worker.idle = (struct idle){0};
	worker.paths = &path;
	worker.path_count = 1;
	rte_ring_free(stuck);
	stuck = NULL;
}

static void install_port(void)
{
	static void *no_callbacks[RTE_MAX_QUEUES_PER_PORT], *queues[1];
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[PORT];

	ops->rx_pkt_burst = receive;
	ops->tx_pkt_burst = take;
	ops->rxq = ops->txq = (struct rte_ethdev_qdata){.data = queues, .clbk = no_callbacks};
}

static int set_up(void **state)
{
	static char *arguments[] = {"test_worker", "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
		"--log-level=error", "-m", "16", "-l", "0", NULL};
	struct table_set set = {0};

	(void)state;
	assert_true(rte_eal_init((int)RTE_DIM(arguments) - 1, arguments) >= 0);
	pool = rte_pktmbuf_pool_create("frames", POOL_SIZE, 0, 40, RTE_PKTMBUF_HEADROOM + 256, 0);
	assert_non_null(pool);
	handmade_table(&set, 2, 2);
	handmade_bind(&set, 0, "192.0.2.9", TABLE_TCP, 80, 80);
	routes = handmade_routes(&set);
	install_port();
	shared.gateway_mac = 1;
	steering = (struct steering_config){.exception_path = true, .outbound_mtu = 1500};
	shared.qsbr = rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(1), RTE_CACHE_LINE_SIZE);
	rte_rcu_qsbr_init(shared.qsbr, 1);
	live.routes = routes;
	shared.live = &live;
	path = (struct flow_path){.in = {.port = PORT}, .out = {.port = PORT}, .exception = {.port = PORT}, .pool = pool};
	worker = (struct worker){.shared = &shared, .path_count = 1, .paths = &path};
	worker.pipeline.steering = &steering;
	worker.pipeline.fast = lanes_plain;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	routes_free(routes);
	rte_free(shared.qsbr);
	rte_mempool_free(pool);
	rte_eal_cleanup();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_leave_in_the_order_of_arrival),
		cmocka_unit_test(test_a_frame_leaves_at_the_next_poll_even_if_that_is_empty),
		cmocka_unit_test(test_a_burst_leaves_when_the_next_is_received),
		cmocka_unit_test(test_what_is_held_leaves_before_the_end),
		cmocka_unit_test(test_a_reload_need_not_wait_for_silence),
		cmocka_unit_test(test_full_bursts_of_both_families_are_steered_apart),
		cmocka_unit_test(test_the_few_of_a_family_wait_for_a_few_rounds),
		cmocka_unit_test(test_none_waits_for_its_family_when_the_port_is_not_full),
		cmocka_unit_test(test_a_distributor_holds_no_longer),
		cmocka_unit_test(test_an_lcore_that_holds_frames_does_not_sleep),
		cmocka_unit_test(test_empty_polls_are_counted_and_others_not),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
