/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends frames to an exception path whose driver refuses some, as tap's driver does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <rte_cycles.h>
#include <rte_eal.h>

#include "common/byteorder.h"
#include "worker/exceptions.h"

enum {
	PORT = RTE_MAX_ETHPORTS - 1,
	POOL_SIZE = 255,
	FRAME_SIZE = 60,
	ARP = 0x0806,
	PPPOE = 0x8863, /* of no class of the control plane */
};

static const struct queue tap = {.port = PORT};
static struct rte_mempool *pool;
static struct exceptions exceptions;
static struct exception_limits limits;
static struct counters counters;

static uint8_t accepted[2 * BURST_MAX]; /* numbers of the frames that the driver accepted, in order */
static unsigned accepted_count, calls;
static uint64_t refuses; /* bit n: the driver refuses frame n */

/* Stops at the first frame that it refuses, as pmd_tx_burst() of tap does. */
static uint16_t take_some(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	(void)queue;
	calls++;
	for (uint16_t i = 0; i < count; i++) {
		uint8_t number = rte_pktmbuf_mtod(mbufs[i], uint8_t *)[1];

		if (refuses >> number & 1)
			return i;
		accepted[accepted_count++] = number;
		rte_pktmbuf_free(mbufs[i]);
	}
	return count;
}

static struct rte_mbuf *make_frame(uint8_t number, uint16_t type)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	uint8_t *frame;

	assert_non_null(mbuf);
	frame = (uint8_t *)rte_pktmbuf_append(mbuf, FRAME_SIZE);
	memset(frame, 0, FRAME_SIZE);
	frame[1] = number;
	store_be16(frame + 12, type);
	return mbuf;
}

static void put(unsigned count, uint16_t type)
{
	for (unsigned i = 0; i < count; i++)
		exceptions_put(&exceptions, make_frame((uint8_t)i, type));
}

static int reset(void **state)
{
	(void)state;
	exceptions = (struct exceptions){0};
	counters = (struct counters){0};
	accepted_count = calls = 0;
	refuses = 0;
	return 0;
}

static int nothing_leaks(void **state)
{
	(void)state;
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	return 0;
}

static void test_the_frames_behind_a_refused_one_are_sent(void **state)
{
	(void)state;
	refuses = 1;
	put(64, PPPOE);
	exceptions_send(&exceptions, &tap, &counters);
	assert_int_equal(accepted_count, 63);
	assert_int_equal(counters.verdicts[VERDICT_EXCEPTION], 63);
	assert_int_equal(counters.exception_other, 63);
	assert_int_equal(counters.verdicts[VERDICT_DROP_EXCEPTION_FULL], 1);
	assert_int_equal(counters.tx_packets, 0);
}

static void test_each_of_several_refused_frames_is_skipped(void **state)
{
	(void)state;
	refuses = UINT64_C(0x8000300000000011);
	put(64, PPPOE);
	exceptions_send(&exceptions, &tap, &counters);
	assert_int_equal(accepted_count, 59);
	assert_int_equal(accepted[58], 62);
	assert_int_equal(counters.verdicts[VERDICT_EXCEPTION], 59);
	assert_int_equal(counters.verdicts[VERDICT_DROP_EXCEPTION_FULL], 5);
}

static void test_an_interface_that_is_down_gets_each_frame_once(void **state)
{
	(void)state;
	refuses = UINT64_MAX;
	put(64, PPPOE);
	exceptions_send(&exceptions, &tap, &counters);
	assert_int_equal(calls, 64);
	assert_int_equal(counters.verdicts[VERDICT_DROP_EXCEPTION_FULL], 64);
	exceptions_send(&exceptions, &tap, &counters);
	assert_int_equal(calls, 64);
}

static void test_the_control_plane_of_a_burst_goes_first(void **state)
{
	(void)state;
	for (uint8_t i = 0; i < 6; i++)
		exceptions_put(&exceptions, make_frame(i, i % 2 ? ARP : PPPOE));
	exceptions_send(&exceptions, &tap, &counters);
	assert_int_equal(accepted_count, 6);
	assert_memory_equal(accepted, ((uint8_t[]){1, 3, 5, 0, 2, 4}), 6);
	assert_int_equal(counters.exception_neighbour, 3);
	assert_int_equal(counters.exception_other, 3);
}

static void test_a_flood_of_other_frames_leaves_the_control_plane_its_share(void **state)
{
	(void)state;
	limits = exceptions_limits(64, 1, rte_get_tsc_hz() * 1000);
	exceptions.limits = &limits;
	for (unsigned round = 0; round < 10; round++) {
		put(64, PPPOE);
		exceptions_send(&exceptions, &tap, &counters);
	}
	assert_int_equal(counters.verdicts[VERDICT_EXCEPTION], 16); /* the depth of the bucket */
	put(16, ARP);
	exceptions_send(&exceptions, &tap, &counters);
	assert_int_equal(counters.verdicts[VERDICT_EXCEPTION], 32);
	assert_int_equal(counters.verdicts[VERDICT_DROP_EXCEPTION_LIMITED], 640 - 16);
	assert_int_equal(counters.exception_limited_other, 640 - 16);
	assert_int_equal(counters.exception_limited_neighbour, 0);
	assert_int_equal(calls, 2);
}

static void test_each_class_has_its_own_bucket(void **state)
{
	uint64_t sum = 0;

	(void)state;
	limits = exceptions_limits(1000, 0, rte_get_tsc_hz() * 1000);
	exceptions.limits = &limits;
	for (unsigned i = 0; i < 2; i++) {
		put(64, ARP);
		exceptions_send(&exceptions, &tap, &counters);
	}
	assert_int_equal(counters.exception_limited_neighbour, 128 - 1000 / 4 / 10);
	put(1, PPPOE);
	exceptions_send(&exceptions, &tap, &counters);
	assert_int_equal(counters.exception_limited_other, 1);
	for (unsigned class = 0; class < EXCEPTION_OTHER; class ++)
		sum += limits.buckets[class].depth / limits.buckets[class].interval;
	assert_int_equal(sum, 4 * 25);
}

static void test_a_limit_of_zero_sends_nothing(void **state)
{
	(void)state;
	limits = exceptions_limits(0, 0, rte_get_tsc_hz());
	exceptions.limits = &limits;
	put(30, ARP);
	put(30, PPPOE);
	exceptions_send(&exceptions, &tap, &counters);
	assert_int_equal(calls, 0);
	assert_int_equal(counters.verdicts[VERDICT_DROP_EXCEPTION_LIMITED], 60);
	assert_int_equal(counters.exception_limited_neighbour, 30);
	assert_int_equal(counters.exception_limited_other, 30);
}

/* A control limit of 1 must not shut the classes that get a quarter of it. */
static void test_a_low_limit_leaves_each_class_open(void **state)
{
	(void)state;
	limits = exceptions_limits(1, 1, rte_get_tsc_hz());
	for (unsigned class = 0; class < EXCEPTION_CLASSES; class ++)
		assert_true(shared_bucket_take(&limits.buckets[class], 0));
}

/* A worker of a distributor sorts and limits, and the distributor keeps the class. */
static void test_a_ring_keeps_the_class(void **state)
{
	struct rte_ring *ring = rte_ring_create("back", 16, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct queue back = {.ring = ring};
	struct rte_mbuf *mbufs[16];
	unsigned count;

	(void)state;
	assert_non_null(ring);
	for (uint8_t i = 0; i < 6; i++)
		exceptions_put(&exceptions, make_frame(i, i % 2 ? ARP : PPPOE));
	exceptions_send(&exceptions, &back, &counters);
	assert_int_equal(counters.verdicts[VERDICT_EXCEPTION], 0); /* the distributor counts it */
	count = rte_ring_sc_dequeue_burst(ring, (void **)mbufs, 16, NULL);
	assert_int_equal(count, 6);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(transmit_outcome(mbufs[i]).verdict, VERDICT_EXCEPTION);
		exceptions_put_sorted(&exceptions, mbufs[5 - i], transmit_outcome(mbufs[5 - i]).class);
	}
	exceptions_send(&exceptions, &tap, &counters);
	assert_memory_equal(accepted, ((uint8_t[]){5, 3, 1, 4, 2, 0}), 6);
	assert_int_equal(counters.verdicts[VERDICT_EXCEPTION], 6);
	rte_ring_free(ring);
}

static void test_a_full_ring_drops_the_rest(void **state)
{
	struct rte_ring *ring = rte_ring_create("full", 16, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct rte_mbuf *mbufs[16];

	(void)state;
	put(20, ARP);
	exceptions_send(&exceptions, &(struct queue){.ring = ring}, &counters);
	assert_int_equal(counters.verdicts[VERDICT_DROP_EXCEPTION_FULL], 5);
	rte_pktmbuf_free_bulk(mbufs, rte_ring_sc_dequeue_burst(ring, (void **)mbufs, 16, NULL));
	rte_ring_free(ring);
}

static int set_up(void **state)
{
	static char *arguments[] = {"test_exceptions", "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
		"--log-level=error", "-m", "16", "-l", "0", NULL};
	static void *no_callbacks[RTE_MAX_QUEUES_PER_PORT], *queues[1];
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[PORT];

	(void)state;
	assert_true(rte_eal_init((int)RTE_DIM(arguments) - 1, arguments) >= 0);
	pool = rte_pktmbuf_pool_create("frames", POOL_SIZE, 0, 40, RTE_PKTMBUF_HEADROOM + 256, 0);
	assert_non_null(pool);
	ops->tx_pkt_burst = take_some;
	ops->txq = (struct rte_ethdev_qdata){.data = queues, .clbk = no_callbacks};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rte_mempool_free(pool);
	rte_eal_cleanup();
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, nothing_leaks)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_frames_behind_a_refused_one_are_sent),
		TEST(test_each_of_several_refused_frames_is_skipped),
		TEST(test_an_interface_that_is_down_gets_each_frame_once),
		TEST(test_the_control_plane_of_a_burst_goes_first),
		TEST(test_a_flood_of_other_frames_leaves_the_control_plane_its_share),
		TEST(test_each_class_has_its_own_bucket),
		TEST(test_a_limit_of_zero_sends_nothing),
		TEST(test_a_low_limit_leaves_each_class_open),
		TEST(test_a_ring_keeps_the_class),
		TEST(test_a_full_ring_drops_the_rest),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
