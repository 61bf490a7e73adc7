/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a worker on a port that follows a script. No frame may be lost, be late, or overtake another frame of its family. */
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
#include "worker/sample.h"
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
static uint64_t taken_for[2]; /* frames that take_few() accepted, by the last byte of their outer destination */
static uint32_t room; /* frames that the port still accepts in take_few() */
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
	worker.last_short = 0;
	worker.gaps = (struct poll_gaps){0};
	worker_run(&worker);
}

static void run(const uint16_t *found, unsigned count)
{
	run_worker(found, count);
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
	assert_int_equal(sent_at[0], 2);
}

static void test_a_burst_leaves_when_the_next_is_received(void **state)
{
	(void)state;
	RUN(64, 1, 0);
	assert_int_equal(sent_at[63], 2);
	assert_int_equal(sent_at[64], 3);
}

static void test_all_frames_leave_before_the_end(void **state)
{
	(void)state;
	RUN(64);
	RUN(5, 64);
	v6_every = 2;
	RUN(64, 64, 64);
	v6_every = 0;
}

static void test_a_busy_worker_reports_a_quiescent_state(void **state)
{
	(void)state;
	RUN(64, 64, 64);
	assert_true(quiescent);
}

/* startup.c makes the pool of a port this large. */
static void test_a_flow_path_holds_fewer_frames_than_it_says(void **state)
{
	(void)state;
	v6_every = 64;
	RUN(64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 0);
	v6_every = 0;
	assert_in_range(most_held, 3 * QUEUE_BURST - 1, FLOW_PATH_FRAMES - 1);
}

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

/* Returns a sum of both backends. */
static uint64_t counted(unsigned kind)
{
	return count_rows_sum(&live.counts.backends, kind, 0) + count_rows_sum(&live.counts.backends, kind, 1);
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
	assert_int_equal(worker.counters.tables[0].packets, accepted);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(count_rows_sum(&live.counts.backends, BACKEND_FORWARDED, i), taken_for[i]);
		assert_int_equal(count_rows_sum(&live.counts.backends, BACKEND_BYTES, i), taken_for[i] * SENT_SIZE);
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
static void test_a_worker_at_its_limit_counts_some_bursts_for_all(void **state)
{
	static uint16_t found[MOST_FRAMES / QUEUE_BURST];
	const uint32_t frames = RTE_DIM(found) * QUEUE_BURST;

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = QUEUE_BURST;
	worker.limit_after = 0;
	run_bound(found, RTE_DIM(found), frames);
	worker.limit_after = SAMPLE_ITERATIONS;
	assert_int_equal(taken_for[0] + taken_for[1], frames);
	assert_int_equal(worker.counters.tables[0].packets, frames);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t packets = count_rows_sum(&live.counts.backends, BACKEND_FORWARDED, i);

		assert_in_range(packets, taken_for[i] * 7 / 10, taken_for[i] * 13 / 10);
		assert_int_equal(packets % SAMPLE_EVERY, 0);
		assert_int_equal(count_rows_sum(&live.counts.backends, BACKEND_BYTES, i), packets * SENT_SIZE);
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
	live.slot[1] = 5;
}

static void test_frames_are_counted_for_their_tables_exactly_if_there_is_time(void **state)
{
	static uint16_t found[MOST_FRAMES / QUEUE_BURST];
	const uint16_t burst[] = {QUEUE_BURST, 0};
	const struct counters_table *tables = worker.counters.tables;

	(void)state;
	use_two_tables(true);
	run_bound(burst, 2, 21);
	assert_int_equal(tables[0].packets, 11);
	assert_int_equal(tables[0].bytes, 11 * SENT_SIZE);
	assert_int_equal(tables[5].packets, 10);
	assert_int_equal(tables[5].bytes, 10 * SENT_SIZE);
	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = QUEUE_BURST;
	worker.limit_after = 0;
	run_bound(found, RTE_DIM(found), MOST_FRAMES);
	worker.limit_after = SAMPLE_ITERATIONS;
	assert_int_equal(worker.counters.verdicts[VERDICT_FORWARDED], MOST_FRAMES);
	for (uint32_t slot = 0; slot <= 5; slot += 5) {
		assert_in_range(tables[slot].packets, MOST_FRAMES / 2 * 7 / 10, MOST_FRAMES / 2 * 13 / 10);
		assert_int_equal(tables[slot].packets % (SAMPLE_EVERY * QUEUE_BURST / 2), 0);
		assert_int_equal(tables[slot].bytes, tables[slot].packets * SENT_SIZE);
	}
	use_two_tables(false);
}

/* At the limit a burst counts 64 times or not at all, so the remainder is what was counted exactly. */
static void test_a_worker_counts_exactly_until_its_limit_and_after_a_short_burst(void **state)
{
	uint16_t found[300];

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = QUEUE_BURST;
	found[RTE_DIM(found) - 3] = 11;
	found[RTE_DIM(found) - 2] = QUEUE_BURST;
	found[RTE_DIM(found) - 1] = 0;
	worker.limit_after = 8;
	run_bound(found, RTE_DIM(found), RTE_DIM(found) * QUEUE_BURST);
	worker.limit_after = SAMPLE_ITERATIONS;
	assert_true(counted(BACKEND_FORWARDED) > 9 * QUEUE_BURST + 11);
	assert_int_equal(counted(BACKEND_FORWARDED) % (SAMPLE_EVERY * QUEUE_BURST), 8 * QUEUE_BURST + 11);
}

static void test_a_worker_with_short_bursts_is_not_at_its_limit(void **state)
{
	uint16_t found[200];

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(found); i++)
		found[i] = SAMPLE_FULL - 1;
	found[RTE_DIM(found) - 1] = 0;
	worker.limit_after = 1;
	run_bound(found, RTE_DIM(found), MOST_FRAMES);
	worker.limit_after = SAMPLE_ITERATIONS;
	assert_int_equal(counted(BACKEND_FORWARDED), (RTE_DIM(found) - 1) * (SAMPLE_FULL - 1));
}

static uint8_t macs[BURST_MAX][12]; /* destination and source of the frames that take_macs() accepted */

static uint16_t take_macs(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	(void)queue;
	for (uint16_t i = 0; i < count; i++)
		memcpy(macs[sent++], rte_pktmbuf_mtod(mbufs[i], void *), sizeof(macs[0]));
	rte_pktmbuf_free_bulk(mbufs, count);
	return count;
}

/* Runs frames for both backends, one burst at a time. */
static void forward_macs(const uint16_t *found, unsigned count)
{
	bound = true;
	rte_eth_fp_ops[PORT].tx_pkt_burst = take_macs;
	run_worker(found, count);
	rte_eth_fp_ops[PORT].tx_pkt_burst = take;
	bound = false;
}

/* There are eight frames. Frame 0 has a martian source, and the odd ones go to a multicast MAC. */
static void test_too_big_replies_go_where_the_flow_path_says(void **state)
{
	static const uint16_t found[] = {8, 0};

	(void)state;
	steering.outbound_mtu = 60;
	steering.send_too_big = true;
	forward_macs(found, 2);
	assert_int_equal(sent, 0);
	assert_int_equal(worker.counters.verdicts[VERDICT_DROP_TOO_BIG], 8);
	assert_int_equal(worker.counters.too_big_without_df, 3);
	steering.reply_without_df = true;
	for (unsigned to_sender = 0; to_sender < 2; to_sender++) {
		path.reply_to_sender = to_sender;
		forward_macs(found, 2);
		assert_int_equal(sent, 3);
		assert_int_equal(worker.counters.verdicts[VERDICT_ANSWERED_TOO_BIG], 3);
		assert_int_equal(worker.counters.too_big_without_df, 0);
		for (uint32_t i = 0; i < sent; i++)
			assert_int_equal(macs[i][0], to_sender ? 0 : next_hops.mac); /* the frames come from the MAC 0 */
	}
	path.reply_to_sender = false;
	steering.outbound_mtu = 1500;
	steering.send_too_big = steering.reply_without_df = false;
}

static void test_each_flow_path_uses_the_next_hop_and_source_mac_of_its_port(void **state)
{
	static const uint16_t found[] = {3, 5, 0, 0};
	struct next_hops other = {.single = true, .mac = 7};
	const uint64_t tx_macs[] = {0x0a0000000002, 0x0b0000000002};
	struct flow_path paths[2] = {path, path};

	(void)state;
	live.next_hops[1] = &other;
	paths[1].tx_index = 1;
	paths[0].tx_mac = &tx_macs[0];
	paths[1].tx_mac = &tx_macs[1];
	worker.paths = paths;
	worker.path_count = 2;
	forward_macs(found, RTE_DIM(found));
	assert_int_equal(sent, 8);
	for (uint32_t i = 0; i < sent; i++) {
		assert_int_equal(macs[i][0], i < 3 ? next_hops.mac : 7);
		assert_int_equal(macs[i][11], i < 3 ? 0xa : 0xb);
	}
	worker.paths = &path;
	worker.path_count = 1;
	live.next_hops[1] = NULL;
}

/* The second backend has no next hop. */
static void test_frames_without_next_hop_are_dropped_and_counted_for_their_backend(void **state)
{
	static const uint16_t found[] = {64, 1, 0};
	lanes_fn *const fast[] = {lanes_plain, NULL};
	const struct next_hop reachable = {1, 2, 1}, unreachable = {2, 0, 1};
	struct next_hops *set =
		next_hops_create((struct next_hop_list[]){{&reachable, 1}, {&unreachable, 1}}, routes->address_count);

	(void)state;
	assert_int_equal(routes->address_count, 2);
	live.next_hops[0] = set;
	for (unsigned i = 0; i < RTE_DIM(fast); i++) {
		uint64_t before = count_rows_sum(&live.counts.backends, BACKEND_NO_NEXT_HOP, 1);

		worker.pipeline.fast = fast[i];
		forward_macs(found, RTE_DIM(found));
		assert_in_range(sent, 10, 55);
		assert_int_equal(worker.counters.verdicts[VERDICT_DROP_NO_NEXT_HOP], 65 - sent);
		assert_int_equal(count_rows_sum(&live.counts.backends, BACKEND_NO_NEXT_HOP, 1) - before, 65 - sent);
		assert_int_equal(count_rows_sum(&live.counts.backends, BACKEND_NO_NEXT_HOP, 0), 0);
		assert_int_equal(rte_mempool_in_use_count(pool), 0);
	}
	worker.pipeline.fast = lanes_plain;
	live.next_hops[0] = &next_hops;
	next_hops_free(set);
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
	/* Neither the first burst, which shows that there are both families, nor the last, after which the port is empty. */
	assert_int_equal(full_of_one_family, 8);
}

static void test_the_few_of_a_family_wait_for_four_iterations(void **state)
{
	(void)state;
	v6_every = 64;
	RUN(64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 0);
	v6_every = 0;
	assert_int_equal(sent_at[63], 2);
	for (uint32_t number = 127; number < received; number += 64)
		assert_in_range(sent_at[number], received_at[number] + 1, received_at[number] + 4);
	assert_int_equal(sent_at[127], received_at[127] + 4);
}

static void test_no_frame_waits_for_its_family_unless_bursts_are_full(void **state)
{
	(void)state;
	v6_every = 2;
	RUN(64, 64, 64, 63, 63, 64, 0, 0);
	v6_every = 0;
	for (uint32_t number = 0; number < received; number++) /* only the second burst was followed by a full one */
		assert_int_equal(sent_at[number], received_at[number] + (received_at[number] == 2 ? 2 : 1));
}

/* The distributor has no workers but itself. */
static void test_a_distributor_sends_a_frame_at_the_next_poll(void **state)
{
	(void)state;
	path.kind = FLOW_PATH_DISTRIBUTE;
	path.distributor = distribute_create(0, true);
	assert_non_null(path.distributor);
	RUN(64, 3, 64, 0, 1, 0);
	for (uint32_t number = 0; number < received; number++)
		assert_int_equal(sent_at[number], received_at[number] + 1);
	RUN(5, 64);
	rte_free(path.distributor);
	path.kind = FLOW_PATH_STEER;
	path.distributor = NULL;
}

/* Receives five frames from the kernel, and checks how many of them the port gets. */
static void return_five(uint16_t mtu, unsigned returned)
{
	static const uint16_t found[] = {5, 0};

	path.kind = FLOW_PATH_RETURN;
	path.mtu = &mtu;
	run_worker(found, RTE_DIM(found));
	assert_int_equal(sent, returned);
	assert_int_equal(worker.counters.exception_returned, returned);
	assert_int_equal(worker.counters.exception_return_refused, 5 - returned);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	path.kind = FLOW_PATH_STEER;
	path.mtu = NULL;
}

static void test_frames_of_the_kernel_that_the_port_cannot_send_are_refused(void **state)
{
	(void)state;
	return_five(FRAME_SIZE - 14, 5);
	return_five(FRAME_SIZE - 15, 0);
	tagged = true;
	return_five(FRAME_SIZE - 18, 5);
	return_five(FRAME_SIZE - 19, 0);
	tagged = false;
	chained = true;
	return_five(1500, 0);
	path.segments_allowed = true;
	return_five(1500, 5);
	path.segments_allowed = chained = false;
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

static void run_with_interrupts(const uint16_t *found, unsigned count)
{
	const struct idle_source source = {.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .is_interrupt = true};

	switched_on = switched_off = 0;
	path.source = &source;
	assert_int_equal(idle_open(&worker.idle, true), 0);
	run_worker(found, count);
	assert_int_equal(sent, received);
	idle_close(&worker.idle);
	worker.idle = (struct idle){0};
	path.source = NULL;
	close(source.fd);
}

/* The lcore looks at the queue once more after it has switched the interrupt on. */
static void test_a_frame_that_comes_before_the_interrupt_is_on_is_not_waited_for(void **state)
{
	static const uint16_t found[300] = {[IDLE_EMPTY_ITERATIONS + 1] = 1};

	(void)state;
	run_with_interrupts(found, RTE_DIM(found));
	assert_int_equal(received, 1);
	assert_int_equal(worker.counters.sleeps, 0);
	assert_int_equal(switched_on, 1);
	assert_int_equal(switched_off, 1);
}

static void test_a_driver_whose_port_may_be_parked_is_not_called(void **state)
{
	static const uint16_t found[300];

	(void)state;
	stops_when_armed = parks_when_armed = true;
	run_with_interrupts(found, RTE_DIM(found));
	stops_when_armed = parks_when_armed = shared.parked[PORT] = false;
	assert_int_equal(worker.counters.sleeps, 1);
	assert_int_equal(switched_on, 1);
	assert_int_equal(switched_off, 0);
}

static void test_interrupts_of_other_ports_are_switched_off_after_an_order(void **state)
{
	static const uint16_t found[300];

	(void)state;
	stops_when_armed = true;
	run_with_interrupts(found, RTE_DIM(found));
	stops_when_armed = false;
	assert_int_equal(worker.counters.sleeps, 1);
	assert_int_equal(switched_on, 1);
	assert_int_equal(switched_off, 1);
}

/* Asserts that a gap is at least as long as the stall. The machine may add long gaps of its own. */
static void check_stall(void)
{
	struct poll_gaps_report report;
	uint64_t long_gaps = 0;

	poll_gaps_read(&worker.gaps, rte_get_tsc_hz(), &report);
	for (unsigned i = 0; i <= POLL_GAPS_BOUNDS; i++)
		if (i == POLL_GAPS_BOUNDS || poll_gaps_bounds[i] > STALL_MS / 1000.)
			long_gaps += report.counts[i];
	assert_in_range(long_gaps, 1, UINT64_MAX);
	assert_true(report.seconds >= STALL_MS / 1000.);
}

static void test_a_stall_in_any_poll_is_a_gap(void **state)
{
	enum { TESTED = 2 * POLL_GAPS_ITERATIONS + 1, POLLS = TESTED + POLL_GAPS_ITERATIONS };
	static const uint16_t kinds[][4] = {{64, 64, 64, 64}, {0}, {64, 0, 0, 1}};
	uint16_t found[POLLS];

	(void)state;
	for (unsigned kind = 0; kind < RTE_DIM(kinds); kind++) {
		for (unsigned i = 0; i < POLLS; i++)
			found[i] = kinds[kind][i % 4];
		for (stalled_poll = 1; stalled_poll <= TESTED; stalled_poll++) {
			run_worker(found, POLLS);
			check_stall();
		}
	}
	stalled_poll = 0;
}

/* The lcore polls once more before it sleeps, and once afterwards. */
static void test_a_stall_in_the_polls_around_sleep_is_a_gap(void **state)
{
	enum { POLLS = IDLE_EMPTY_ITERATIONS + 4 };
	static const uint16_t found[POLLS + 4]; /* some polls still follow the order to stop */

	(void)state;
	for (stalled_poll = IDLE_EMPTY_ITERATIONS + 1; stalled_poll < POLLS; stalled_poll++) {
		run_with_interrupts(found, POLLS);
		assert_in_range(worker.counters.sleeps, 1, 2);
		check_stall();
	}
	stalled_poll = 0;
}

/* The ring back to the distributor has no room for the frames of the first poll. The other flow path receives nothing. */
static void test_an_lcore_with_frames_left_does_not_sleep(void **state)
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
	run_worker(found, RTE_DIM(found));
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
	worker = (struct worker){.shared = &shared, .path_count = 1, .paths = &path, .limit_after = SAMPLE_ITERATIONS};
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_leave_in_the_order_of_arrival),
		cmocka_unit_test(test_a_frame_leaves_at_the_next_poll_even_if_that_is_empty),
		cmocka_unit_test(test_a_burst_leaves_when_the_next_is_received),
		cmocka_unit_test(test_all_frames_leave_before_the_end),
		cmocka_unit_test(test_a_busy_worker_reports_a_quiescent_state),
		cmocka_unit_test(test_full_bursts_of_both_families_are_steered_apart),
		cmocka_unit_test(test_the_few_of_a_family_wait_for_four_iterations),
		cmocka_unit_test(test_no_frame_waits_for_its_family_unless_bursts_are_full),
		cmocka_unit_test(test_a_distributor_sends_a_frame_at_the_next_poll),
		cmocka_unit_test(test_a_frame_that_comes_before_the_interrupt_is_on_is_not_waited_for),
		cmocka_unit_test(test_a_driver_whose_port_may_be_parked_is_not_called),
		cmocka_unit_test(test_interrupts_of_other_ports_are_switched_off_after_an_order),
		cmocka_unit_test(test_a_stall_in_any_poll_is_a_gap),
		cmocka_unit_test(test_a_stall_in_the_polls_around_sleep_is_a_gap),
		cmocka_unit_test(test_an_lcore_with_frames_left_does_not_sleep),
		cmocka_unit_test(test_frames_of_the_kernel_that_the_port_cannot_send_are_refused),
		cmocka_unit_test(test_a_flow_path_holds_fewer_frames_than_it_says),
		cmocka_unit_test(test_each_forwarded_frame_is_counted_for_its_first_hop),
		cmocka_unit_test(test_frames_between_others_are_counted_for_their_first_hop),
		cmocka_unit_test(test_too_big_replies_go_where_the_flow_path_says),
		cmocka_unit_test(test_each_flow_path_uses_the_next_hop_and_source_mac_of_its_port),
		cmocka_unit_test(test_frames_without_next_hop_are_dropped_and_counted_for_their_backend),
		cmocka_unit_test(test_a_worker_at_its_limit_counts_some_bursts_for_all),
		cmocka_unit_test(test_frames_are_counted_for_their_tables_exactly_if_there_is_time),
		cmocka_unit_test(test_a_worker_counts_exactly_until_its_limit_and_after_a_short_burst),
		cmocka_unit_test(test_a_worker_with_short_bursts_is_not_at_its_limit),
		cmocka_unit_test(test_empty_polls_are_counted_and_others_not),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
