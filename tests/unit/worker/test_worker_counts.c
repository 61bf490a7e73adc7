/* SPDX-License-Identifier: BSD-3-Clause */
/* For tables and backends, a worker counts all packets of small bursts and estimates those of large ones. */
#include "tests/unit/worker/scripted_port.h"

#define SMALL (SAMPLE_FULL - 1) /* frames of a burst that is counted exactly */

static uint64_t taken_for[2]; /* frames that take_few() accepted, by the last byte of their outer destination */
static uint32_t room; /* frames that the port still accepts in take_few() */

/* A port that is full after `room` frames. */
static uint16_t take_few(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	(void)queue;
	count = RTE_MIN(count, room);
	room -= count;
	sent += count;
	for (uint16_t i = 0; i < count; i++)
		taken_for[rte_pktmbuf_mtod(mbufs[i], uint8_t *)[33] % 2]++;
	rte_pktmbuf_free_bulk(mbufs, count);
	return count;
}

/* Returns the packets of all tables. Asserts that all have the same size. */
static uint64_t counted(void)
{
	struct forwarded sum = {0};

	for (uint32_t t = 0; t < routes->set.count; t++) {
		struct forwarded more = table_counts_table(&live.counts, routes, t);

		sum.packets += more.packets;
		sum.bytes += more.bytes;
	}
	assert_int_equal(sum.bytes, sum.packets * SENT_SIZE);
	return sum.packets;
}

/* Runs frames for two backends into a port with room for some. */
static void run_bound(const uint16_t *found, unsigned count, uint32_t accepted)
{
	memset(taken_for, 0, sizeof(taken_for));
	table_counts_free(&live.counts);
	assert_true(table_counts_alloc(&live.counts, routes, 1));
	bound = true;
	room = accepted;
	rte_eth_fp_ops[PORT].tx_pkt_burst = take_few;
	run_worker(found, count);
	rte_eth_fp_ops[PORT].tx_pkt_burst = take;
	bound = false;
}

/* The same for one burst. */
static void forward(uint16_t frames, uint16_t accepted)
{
	const uint16_t found[] = {frames, 0};

	run_bound(found, 2, accepted);
	assert_int_equal(worker.counters.verdicts[VERDICT_FORWARDED], accepted);
	assert_int_equal(counted(), accepted);
	for (uint32_t i = 0; i < 2; i++) {
		struct forwarded backend = table_counts_backend(&live.counts, i);

		assert_int_equal(backend.packets, taken_for[i]);
		assert_int_equal(backend.bytes, taken_for[i] * SENT_SIZE);
	}
	assert_int_equal(taken_for[0] + taken_for[1], accepted);
	assert_true(accepted < 10 || (taken_for[0] > 0 && taken_for[1] > 0));
}

static void test_each_forwarded_frame_is_counted_for_its_first_hop(void **state)
{
	lanes_fn *const fast[] = {lanes_plain, NULL};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(fast); i++) {
		worker.pipeline.fast = fast[i];
		forward(64, 64);
		forward(64, 10);
		forward(1, 0);
	}
	worker.pipeline.fast = lanes_plain;
}

/* The second frame of the burst matches no bind, so the frames in the outbox are not those of the lanes with the same number. */
static void test_frames_between_others_are_counted_for_their_first_hop(void **state)
{
	(void)state;
	steering.exception_path = false;
	v6_every = 2;
	forward(64, 15);
	steering.exception_path = true;
	v6_every = 0;
}

/* The numbers are not random from run to run, so this test always gives the same result: 100 bursts are counted, more or less. */
static void test_one_of_some_large_bursts_counts_for_all(void **state)
{
	static uint16_t found[MOST_FRAMES / QUEUE_BURST];
	const uint32_t frames = RTE_DIM(found) * QUEUE_BURST;

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = QUEUE_BURST;
	run_bound(found, RTE_DIM(found), 0);
	assert_int_equal(counted(), 0);
	run_bound(found, RTE_DIM(found), frames);
	assert_int_equal(taken_for[0] + taken_for[1], frames);
	assert_in_range(counted(), frames * 95 / 100, frames * 105 / 100);
	for (uint32_t i = 0; i < 2; i++) {
		struct forwarded backend = table_counts_backend(&live.counts, i);

		assert_in_range(backend.packets, taken_for[i] * 9 / 10, taken_for[i] * 11 / 10);
		assert_int_equal(backend.bytes, backend.packets * SENT_SIZE);
	}
}

/* A table of frames with even numbers, and one of frames with odd numbers. */
static void use_two_tables(bool use)
{
	static struct routes *one;
	struct table_set set = {0};

	two_tables = use;
	if (!use) {
		routes_free(routes);
		live.routes = routes = one;
		return;
	}
	for (uint32_t t = 0; t < 2; t++) {
		handmade_table(&set, 2, 2);
		handmade_bind(&set, t, "192.0.2.9", TABLE_TCP, (uint16_t)(80 + t), (uint16_t)(80 + t));
	}
	one = routes;
	live.routes = routes = handmade_routes(&set);
}

static void test_frames_are_counted_for_their_tables(void **state)
{
	const uint16_t burst[] = {QUEUE_BURST, 0};

	(void)state;
	use_two_tables(true);
	run_bound(burst, 2, 21);
	for (uint32_t t = 0; t < 2; t++) {
		struct forwarded table = table_counts_table(&live.counts, routes, t);

		assert_int_equal(table.packets, 11 - t);
		assert_int_equal(table.bytes, (11 - t) * SENT_SIZE);
	}
	use_two_tables(false);
}

static uint64_t grace; /* begins when the worker receives */
static unsigned settles;

void __real_table_counts_settle(const struct table_counts *counts, const struct routes *from, unsigned of,
	struct settler *settler, uint32_t packets);
void __wrap_table_counts_settle(const struct table_counts *counts, const struct routes *from, unsigned of,
	struct settler *settler, uint32_t packets);

/* Takes the place of table_counts_settle(). After the grace period the control thread frees the table. */
void __wrap_table_counts_settle(const struct table_counts *counts, const struct routes *from, unsigned of,
	struct settler *settler, uint32_t packets)
{
	settles++;
	assert_true(!grace || rte_rcu_qsbr_check(shared.qsbr, grace, false) == 0);
	__real_table_counts_settle(counts, from, of, settler, packets);
}

static uint16_t receive_and_reload(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	grace = rte_rcu_qsbr_start(shared.qsbr);
	return receive(queue, mbufs, count);
}

static void test_a_table_is_not_settled_after_its_last_use(void **state)
{
	static const uint16_t found[200] = {0, 0, 64, 3, 0, 64};

	(void)state;
	settles = 0;
	rte_eth_fp_ops[PORT].rx_pkt_burst = receive_and_reload;
	run_bound(found, RTE_DIM(found), UINT32_MAX);
	rte_eth_fp_ops[PORT].rx_pkt_burst = receive;
	grace = 0;
	assert_true(settles > 0);
}

static uint64_t seen; /* packets that the counters have while the port accepts none */

static uint16_t take_none(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	(void)queue;
	(void)mbufs;
	(void)count;
	seen += counted();
	return 0;
}

static void test_frames_that_a_port_refuses_are_never_counted(void **state)
{
	uint16_t found[100];

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = i % 2 ? SMALL : QUEUE_BURST;
	table_counts_free(&live.counts);
	assert_true(table_counts_alloc(&live.counts, routes, 1));
	bound = true;
	seen = 0;
	rte_eth_fp_ops[PORT].tx_pkt_burst = take_none;
	run_worker(found, RTE_DIM(found));
	rte_eth_fp_ops[PORT].tx_pkt_burst = take;
	bound = false;
	assert_int_equal(seen, 0);
	assert_int_equal(counted(), 0);
	forward(64, 64);
}

/* Every third frame matches no bind, so the others take the outbox. Only full bursts would be split by family. */
static void test_one_of_some_large_outboxes_counts_for_all(void **state)
{
	static uint16_t found[MOST_FRAMES / QUEUE_BURST];
	uint64_t forwarded;

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = QUEUE_BURST - 1;
	steering.exception_path = false;
	v6_every = 3;
	run_bound(found, RTE_DIM(found), UINT32_MAX);
	v6_every = 0;
	steering.exception_path = true;
	forwarded = taken_for[0] + taken_for[1];
	assert_in_range(counted(), forwarded * 9 / 10, forwarded * 11 / 10);
	assert_int_not_equal(counted(), forwarded);
}

static void test_too_big_replies_are_counted_for_no_backend(void **state)
{
	static const uint16_t found[] = {SMALL, 0};
	struct steering_config before = steering;

	(void)state;
	steering.outbound_mtu = SENT_SIZE - NET_ETHERNET_SIZE - 1;
	steering.send_too_big = steering.reply_without_df = true;
	run_bound(found, RTE_DIM(found), UINT32_MAX);
	steering = before;
	assert_in_range(worker.counters.verdicts[VERDICT_ANSWERED_TOO_BIG], 1, SMALL);
	assert_int_equal(counted(), 0);
}

/* Runs bursts that count exactly for backends, but are estimated for binds. */
static void run_medium_bursts(void)
{
	static uint16_t found[MOST_FRAMES / QUEUE_BURST];
	uint64_t forwarded, estimated;

	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = SMALL;
	run_bound(found, RTE_DIM(found), UINT32_MAX);
	forwarded = taken_for[0] + taken_for[1];
	estimated = count_rows_sum(&live.counts.binds, BIND_PACKETS, table_counts_bind(&live.counts, 0, 0));
	assert_int_equal(counted(), forwarded);
	assert_in_range(estimated, forwarded * 9 / 10, forwarded * 11 / 10);
	assert_int_not_equal(estimated, forwarded);
}

static void test_packets_of_medium_bursts_are_estimated_for_their_bind(void **state)
{
	(void)state;
	run_medium_bursts();
	steering.exception_path = false;
	v6_every = 3; /* these match no bind, so the others take the outbox */
	run_medium_bursts();
	v6_every = 0;
	steering.exception_path = true;
}

static void test_tallies_are_settled_while_the_worker_runs(void **state)
{
	static uint16_t found[MOST_FRAMES / QUEUE_BURST];

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = i % 8 ? SMALL : 1;
	worker.settler = (struct settler){.due = 2ull * SETTLE_PACKETS - 20000 * routes->address_count};
	run_bound(found, RTE_DIM(found), UINT32_MAX);
	assert_int_equal(counted(), taken_for[0] + taken_for[1]);
	for (uint32_t i = 0; i < 2; i++)
		assert_in_range(count_rows_of(&live.counts.backends, BACKEND_PACKETS, 0)[i], 1, taken_for[i]);
}

/* Without credit, a burst of 64 counts SAMPLE_EVERY times or not at all, so the remainder is what was counted exactly. */
static uint64_t counted_exactly(void)
{
	assert_true(counted() > SAMPLE_EVERY * QUEUE_BURST);
	return counted() % (SAMPLE_EVERY * QUEUE_BURST);
}

static void test_the_first_large_bursts_and_small_ones_are_counted_exactly(void **state)
{
	uint16_t found[SAMPLE_REGAIN - 1];

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = i < SAMPLE_CREDIT / 2 ? 40 : QUEUE_BURST;
	found[50] = 11;
	found[60] = SMALL;
	found[RTE_DIM(found) - 1] = 0;
	run_bound(found, RTE_DIM(found), UINT32_MAX);
	assert_int_equal(counted_exactly(), SAMPLE_CREDIT / 2 * (40 + QUEUE_BURST) + 11 + SMALL);
}

static void test_a_large_burst_is_counted_exactly_now_and_then(void **state)
{
	uint16_t found[2 * SAMPLE_REGAIN + 30];

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = QUEUE_BURST;
	found[RTE_DIM(found) - 1] = 0;
	run_bound(found, RTE_DIM(found), UINT32_MAX);
	assert_int_equal(counted_exactly(), (SAMPLE_CREDIT + 2) * QUEUE_BURST);
}

static void test_an_idle_worker_counts_exactly_again(void **state)
{
	static uint16_t found[SAMPLE_REGAIN * (SAMPLE_CREDIT + 2)];
	unsigned last = RTE_DIM(found) - 1;

	(void)state;
	for (unsigned i = 0; i < SAMPLE_REGAIN - 1; i++)
		found[i] = QUEUE_BURST;
	for (unsigned i = 1; i <= SAMPLE_CREDIT; i++)
		found[last - i] = i <= SAMPLE_CREDIT / 2 ? 40 : QUEUE_BURST;
	run_bound(found, RTE_DIM(found), UINT32_MAX);
	assert_int_equal(counted_exactly(), SAMPLE_CREDIT * QUEUE_BURST + SAMPLE_CREDIT / 2 * (40 + QUEUE_BURST));
}

/* Between the two halves, the worker sleeps for longer than it polls. */
static void test_a_worker_that_sleeps_counts_exactly_again(void **state)
{
	static const struct idle_source no_interrupt = {.fd = -1}; /* so that it takes short naps */
	static uint16_t found[2 * SAMPLE_CREDIT + IDLE_EMPTY_ITERATIONS + 4];
	unsigned last = RTE_DIM(found) - 1;

	(void)state;
	for (unsigned i = 0; i < SAMPLE_CREDIT; i++)
		found[i] = found[last - 1 - i] = QUEUE_BURST;
	path.source = &no_interrupt;
	assert_int_equal(idle_open(&worker.idle, true), 0);
	run_bound(found, RTE_DIM(found), UINT32_MAX);
	idle_close(&worker.idle);
	worker.idle = (struct idle){0};
	path.source = NULL;
	assert_in_range(worker.counters.sleeps, 1, 5);
	assert_int_equal(counted(), taken_for[0] + taken_for[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_forwarded_frame_is_counted_for_its_first_hop),
		cmocka_unit_test(test_frames_between_others_are_counted_for_their_first_hop),
		cmocka_unit_test(test_one_of_some_large_bursts_counts_for_all),
		cmocka_unit_test(test_frames_are_counted_for_their_tables),
		cmocka_unit_test(test_a_table_is_not_settled_after_its_last_use),
		cmocka_unit_test(test_frames_that_a_port_refuses_are_never_counted),
		cmocka_unit_test(test_one_of_some_large_outboxes_counts_for_all),
		cmocka_unit_test(test_too_big_replies_are_counted_for_no_backend),
		cmocka_unit_test(test_packets_of_medium_bursts_are_estimated_for_their_bind),
		cmocka_unit_test(test_tallies_are_settled_while_the_worker_runs),
		cmocka_unit_test(test_the_first_large_bursts_and_small_ones_are_counted_exactly),
		cmocka_unit_test(test_a_large_burst_is_counted_exactly_now_and_then),
		cmocka_unit_test(test_an_idle_worker_counts_exactly_again),
		cmocka_unit_test(test_a_worker_that_sleeps_counts_exactly_again),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
