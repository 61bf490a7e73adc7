/* SPDX-License-Identifier: BSD-3-Clause */
/* When a worker that sleeps trusts the interrupts of its port, and when it leaves the port alone. */
#include "tests/unit/worker/scripted_port.h"

static int card = -1; /* eventfd of the interrupt */
static struct idle_source source;

static int open_idle(void **state)
{
	(void)state;
	card = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	source = (struct idle_source){.fd = card, .is_interrupt = true};
	path.source = &source;
	worker.active_count = 0;
	switched_on = switched_off = 0;
	parks_when_armed = shared.parked[PORT] = false;
	return idle_open(&worker.idle, true);
}

static int close_idle(void **state)
{
	(void)state;
	idle_close(&worker.idle);
	worker.idle = (struct idle){0};
	path.source = NULL;
	return close(card);
}

/* Another lcore distributes packets to this one, whose own port is quiet. */
static void test_packets_that_the_doorbell_announces_are_no_lost_interrupts(void **state)
{
	struct idle *idle = &worker.idle;

	(void)state;
	idle_watch(idle, &source, PORT, 0);
	for (int i = 0; i <= IDLE_LOST_INTERRUPTS; i++) {
		doorbell_announce(&idle->bell);
		assert_true(idle_arm(idle));
		doorbell_ring(&idle->bell);
		if (!idle_sleep(idle))
			idle_missed(idle);
		idle_disarm(idle);
	}
	assert_int_equal(idle->lost, 0);
}

static void follow_orders(bool parked)
{
	shared.parked[PORT] = parked;
	shared.stop = true;
	worker_run(&worker);
}

static void miss_interrupts(int count)
{
	for (int i = 0; i < count; i++) {
		assert_true(idle_arm(&worker.idle));
		idle_missed(&worker.idle);
		idle_disarm(&worker.idle);
	}
}

/* A card whose interrupts stay broken delays the packets of only one sleep after each reset. */
static void test_a_port_that_was_reset_has_one_more_chance_to_send_interrupts(void **state)
{
	static const uint16_t found[1];

	(void)state;
	run_worker(found, RTE_DIM(found));
	miss_interrupts(IDLE_LOST_INTERRUPTS);
	for (int i = 0; i < 2; i++) {
		assert_false(idle_arm(&worker.idle));
		follow_orders(false); /* another order */
		assert_false(idle_arm(&worker.idle));
		follow_orders(true);
		assert_false(idle_arm(&worker.idle));
		follow_orders(false);
		miss_interrupts(1);
	}
}

static void test_interrupts_that_a_reset_has_mended_are_trusted_as_before(void **state)
{
	uint64_t one = 1;

	(void)state;
	follow_orders(false);
	miss_interrupts(IDLE_LOST_INTERRUPTS);
	follow_orders(true);
	follow_orders(false);
	assert_true(idle_arm(&worker.idle));
	assert_int_equal(write(card, &one, sizeof(one)), sizeof(one));
	assert_true(idle_sleep(&worker.idle));
	idle_disarm(&worker.idle);
	miss_interrupts(IDLE_LOST_INTERRUPTS);
	assert_false(idle_arm(&worker.idle));
}

/* Not even one of the interrupts that may be lost in a row. */
static void test_a_reset_takes_no_trust_away(void **state)
{
	(void)state;
	follow_orders(false);
	follow_orders(true);
	follow_orders(false);
	miss_interrupts(IDLE_LOST_INTERRUPTS);
	assert_false(idle_arm(&worker.idle));
}

/* The order comes with the last poll, before the worker reports the quiescent state that the order waits for. */
static void test_a_port_that_may_be_parked_is_not_used_before_the_sleep(void **state)
{
	static const uint16_t found[IDLE_EMPTY_ITERATIONS + 2];

	(void)state;
	run_worker(found, IDLE_EMPTY_ITERATIONS + 1);
	assert_int_equal(polls_done, polls);
	assert_int_equal(switched_on, 0);
}

static void test_interrupts_of_a_port_that_may_be_parked_are_not_switched_off(void **state)
{
	static const uint16_t found[] = {[IDLE_EMPTY_ITERATIONS + 1] = 1};

	(void)state;
	parks_when_armed = true;
	run_worker(found, RTE_DIM(found));
	assert_int_equal(switched_on, 1);
	assert_int_equal(switched_off, 0);
	shared.parked[PORT] = false;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_idle, close_idle)
	const struct CMUnitTest tests[] = {
		TEST(test_packets_that_the_doorbell_announces_are_no_lost_interrupts),
		TEST(test_a_port_that_was_reset_has_one_more_chance_to_send_interrupts),
		TEST(test_interrupts_that_a_reset_has_mended_are_trusted_as_before),
		TEST(test_a_reset_takes_no_trust_away),
		TEST(test_a_port_that_may_be_parked_is_not_used_before_the_sleep),
		TEST(test_interrupts_of_a_port_that_may_be_parked_are_not_switched_off),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
