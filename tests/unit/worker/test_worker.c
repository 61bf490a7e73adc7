/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames leave a worker in order, in time, by the right port, and none is lost. */
#include "tests/unit/worker/scripted_port.h"

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
		cmocka_unit_test(test_too_big_replies_go_where_the_flow_path_says),
		cmocka_unit_test(test_each_flow_path_uses_the_next_hop_and_source_mac_of_its_port),
		cmocka_unit_test(test_frames_without_next_hop_are_dropped_and_counted_for_their_backend),
		cmocka_unit_test(test_empty_polls_are_counted_and_others_not),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
