/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a worker on a port that follows a script: how many frames each poll receives. No frame may overtake another frame of its
 * family. A test includes this file once.
 */
#pragma once

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include "tests/unit/handmade.h"
#include "worker/counts/sample.h"
#include "worker/worker.h"

enum {
	PORT = RTE_MAX_ETHPORTS - 1,
	POOL_SIZE = 1023,
	MOST_FRAMES = 100 * SAMPLE_EVERY * QUEUE_BURST,
	FRAME_SIZE = 74,
	SENT_SIZE = FRAME_SIZE + 40, /* of a forwarded frame, with the outer headers */
	STALL_MS = 5,
};

static struct rte_mempool *pool;
static struct routes *routes;
static struct worker_shared shared;
static struct steering_config steering;
static const uint64_t mac; /* steering accepts every MAC */
static struct worker worker;
static struct flow_path path;
static struct live_table live;
static struct next_hops next_hops;

/* The number of frames that each poll receives. The last poll stops the worker. */
static const uint16_t *script;
static unsigned polls, polls_done;
static uint32_t received, sent, most_held;
static bool bound; /* the frames match a bind */
static bool two_tables; /* the odd frames match a bind of the second table */
static bool tagged, chained; /* the frames have a VLAN tag, have two segments */
static unsigned received_at[MOST_FRAMES], sent_at[MOST_FRAMES]; /* number of the poll, by the number of the frame */
static struct rte_ring *stuck; /* NULL, or a ring that is full after the first poll and stays full */
static uint64_t token; /* of RCU, taken at the first poll */
static unsigned stalled_poll; /* the poll with this number takes STALL_MS; 0: none does */
static bool quiescent; /* the worker has reported a quiescent state between the first poll and the last */

/* The last of this number of frames is IPv6. 0: no frame is. */
static uint32_t v6_every;
static uint32_t next_number[2]; /* of IPv4 and IPv6: the lowest number that may be sent next */
static unsigned full_of_one_family; /* full bursts of one family that were sent */

static bool is_v6(uint32_t number)
{
	return v6_every && number % v6_every == v6_every - 1;
}

/* A TCP segment with its number in place of a MAC. It matches no table, unless `bound`. The number is also in the source address. */
static struct rte_mbuf *make_frame(uint32_t number)
{
	static const uint8_t headers[2][FRAME_SIZE] = {
		{[12] = 0x08, [14] = 0x45, [17] = FRAME_SIZE - 14, [22] = 64, [23] = IPPROTO_TCP},
		{[12] = 0x86, [13] = 0xdd, [14] = 0x60, [19] = FRAME_SIZE - 54, [20] = IPPROTO_TCP, [21] = 64}};
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	char *frame = rte_pktmbuf_append(mbuf, FRAME_SIZE);

	memcpy(frame, headers[is_v6(number)], FRAME_SIZE);
	memcpy(frame, &number, sizeof(number));
	if (bound) {
		memcpy(frame + 26, &number, sizeof(number));
		memcpy(frame + 30, (uint8_t[]){192, 0, 2, 9}, 4);
		frame[37] = two_tables ? 80 + number % 2 : 80;
	}
	if (tagged)
		memcpy(frame + 12, (uint8_t[]){0x81, 0, 0, 7}, 4);
	if (chained)
		rte_pktmbuf_chain(mbuf, rte_pktmbuf_alloc(pool)); /* an empty segment */
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
	if (polls_done == stalled_poll)
		rte_delay_us_block(STALL_MS * 1000);
	for (uint16_t i = 0; i < found; i++) {
		received_at[received] = polls_done;
		mbufs[i] = make_frame(received++);
	}
	most_held = RTE_MAX(most_held, received - sent);
	return found;
}

/* Checks that the frames of a family are sent in the order of arrival. */
static uint16_t take(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	unsigned v6 = 0;

	(void)queue;
	for (uint16_t i = 0; i < count; i++) {
		uint32_t number;

		memcpy(&number, rte_pktmbuf_mtod(mbufs[i], void *), sizeof(number));
		assert_in_range(number, next_number[is_v6(number)], received - 1);
		next_number[is_v6(number)] = number + 1;
		v6 += is_v6(number);
		sent_at[number] = polls_done;
		rte_pktmbuf_free(mbufs[i]);
	}
	sent += count;
	full_of_one_family += count == QUEUE_BURST && v6 % QUEUE_BURST == 0;
	return count;
}

static void run_worker(const uint16_t *found, unsigned count)
{
	script = found;
	polls = count;
	polls_done = 0;
	received = sent = most_held = 0;
	next_number[0] = next_number[1] = 0;
	full_of_one_family = 0;
	path.split_left = 0;
	shared.stop = false;
	worker.counters = (struct counters){0};
	sample_begin(&worker.sampler, 0);
	worker.gaps = (struct poll_gaps){0};
	worker_run(&worker);
}

/* Orders that come while the lcore sleeps, which is after the interrupt was switched on. */
static bool stops_when_armed, parks_when_armed;
static int switched_on, switched_off;

int rte_eth_dev_rx_intr_enable(uint16_t port, uint16_t queue)
{
	(void)port, (void)queue;
	switched_on++;
	shared.stop |= stops_when_armed;
	shared.parked[PORT] |= parks_when_armed;
	return 0;
}

int rte_eth_dev_rx_intr_disable(uint16_t port, uint16_t queue)
{
	(void)port, (void)queue;
	switched_off++;
	return 0;
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
	next_hops = (struct next_hops){.single = true, .mac = 1};
	steering = (struct steering_config){
		.hash_fields = STEERING_SOURCE_ADDRESS, .exception_path = true, .outbound_mtu = 1500};
	shared.qsbr = rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(1), RTE_CACHE_LINE_SIZE);
	rte_rcu_qsbr_init(shared.qsbr, 1);
	live.routes = routes;
	live.next_hops[0] = &next_hops;
	assert_true(table_counts_alloc(&live.counts, routes, 1));
	shared.live = &live;
	path = (struct flow_path){.in = {.port = PORT},
		.out = {.port = PORT},
		.exception = {.port = PORT},
		.pool = pool,
		.rx_mac = &mac,
		.tx_mac = &mac};
	worker = (struct worker){.shared = &shared, .path_count = 1, .paths = &path};
	worker.pipeline.steering = &steering;
	worker.pipeline.fast = lanes_plain;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	table_counts_free(&live.counts);
	routes_free(routes);
	rte_free(shared.qsbr);
	rte_mempool_free(pool);
	rte_eal_cleanup();
	return 0;
}
