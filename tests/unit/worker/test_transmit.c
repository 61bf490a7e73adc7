/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends frames to a port, or to the ring of another lcore, that accepts some of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include "worker/transmit.h"

enum {
	PORT = RTE_MAX_ETHPORTS - 1,
	FRAME_SIZE = 74,
};

static struct rte_mempool *pool;
static uint16_t room; /* frames that the port still accepts */

static struct rte_mbuf *make_frame(void)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	assert_non_null(rte_pktmbuf_append(mbuf, FRAME_SIZE));
	return mbuf;
}

static uint16_t take(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	(void)queue;
	count = RTE_MIN(count, room);
	room -= count;
	rte_pktmbuf_free_bulk(mbufs, count);
	return count;
}

static void test_frames_that_are_not_accepted_are_counted_and_freed(void **state)
{
	const struct queue queue = {.port = PORT};
	struct outbox outbox = {0};
	struct counters counters = {0};

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		outbox_put(&outbox, make_frame(), i % 2 ? VERDICT_ANSWERED_TOO_BIG : VERDICT_FORWARDED, 0);
	room = 3;
	assert_int_equal(transmit(&queue, &outbox, &counters), 3);
	assert_int_equal(counters.verdicts[VERDICT_FORWARDED], 2);
	assert_int_equal(counters.verdicts[VERDICT_ANSWERED_TOO_BIG], 1);
	assert_int_equal(counters.verdicts[VERDICT_DROP_TX_FULL], 1);
	assert_int_equal(counters.tx_bytes, 3 * FRAME_SIZE);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

/* A burst of frames to a port that accepts `accepted` of them, or to a ring. */
static void send_forwarded_burst(struct rte_ring *ring, uint16_t accepted, struct counters *counters)
{
	static struct burst burst = {.count = 4};
	const struct queue queue = {.port = PORT, .ring = ring};
	struct rte_mbuf *mbufs[4];

	for (uint32_t i = 0; i < burst.count; i++) {
		mbufs[i] = make_frame();
		burst.out_size[i] = FRAME_SIZE + i;
	}
	room = accepted;
	assert_int_equal(transmit_forwarded(&queue, mbufs, &burst, counters), accepted);
}

static void test_forwarded_bursts_are_counted(void **state)
{
	struct counters counters = {0};

	(void)state;
	send_forwarded_burst(NULL, 3, &counters);
	assert_int_equal(counters.verdicts[VERDICT_FORWARDED], 3);
	assert_int_equal(counters.verdicts[VERDICT_DROP_TX_FULL], 1);
	assert_int_equal(counters.tx_packets, 3);
	assert_int_equal(counters.tx_bytes, 3 * FRAME_SIZE + 0 + 1 + 2);
}

/* The lcore at the other end of the ring counts the frames, so each frame carries its outcome. */
static void test_forwarded_bursts_go_into_a_ring_with_their_outcomes(void **state)
{
	struct rte_ring *ring = rte_ring_create("forwarded", 4, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct counters counters = {0};
	void *mbuf = NULL;

	(void)state;
	send_forwarded_burst(ring, 3, &counters); /* a ring has room for one less than its size */
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(rte_ring_dequeue(ring, &mbuf), 0);
		assert_int_equal(transmit_outcome(mbuf).verdict, VERDICT_FORWARDED);
		rte_pktmbuf_free(mbuf);
	}
	assert_int_equal(counters.verdicts[VERDICT_FORWARDED], 0);
	assert_int_equal(counters.verdicts[VERDICT_DROP_TX_FULL], 1);
	rte_ring_free(ring);
}

static int set_up(void **state)
{
	static char *arguments[] = {"test_transmit", "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
		"--log-level=error", "-m", "16", "-l", "0", NULL};
	static void *no_callbacks[RTE_MAX_QUEUES_PER_PORT], *queues[1];

	(void)state;
	assert_true(rte_eal_init((int)RTE_DIM(arguments) - 1, arguments) >= 0);
	pool = rte_pktmbuf_pool_create("frames", 63, 0, 0, RTE_PKTMBUF_HEADROOM + 256, 0);
	assert_non_null(pool);
	rte_eth_fp_ops[PORT].tx_pkt_burst = take;
	rte_eth_fp_ops[PORT].txq = (struct rte_ethdev_qdata){.data = queues, .clbk = no_callbacks};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	rte_mempool_free(pool);
	rte_eal_cleanup();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_that_are_not_accepted_are_counted_and_freed),
		cmocka_unit_test(test_forwarded_bursts_are_counted),
		cmocka_unit_test(test_forwarded_bursts_go_into_a_ring_with_their_outcomes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
