/* SPDX-License-Identifier: BSD-3-Clause */
/* An lcore that waits for receive interrupts. This test takes the place of the driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "worker/idle.h"

static struct idle idle;
static int card = -1; /* eventfd */
static int on; /* interrupts of (port 3, queue 1) that are switched on */
static int refusal;

int rte_eth_dev_rx_intr_enable(uint16_t port, uint16_t queue)
{
	assert_int_equal(port, 3);
	assert_int_equal(queue, 1);
	on += !refusal;
	return refusal;
}

int rte_eth_dev_rx_intr_disable(uint16_t port, uint16_t queue)
{
	assert_int_equal(port, 3);
	assert_int_equal(queue, 1);
	on--;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	on = refusal = 0;
	card = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return idle_open(&idle, true);
}

static int tear_down(void **state)
{
	(void)state;
	idle_close(&idle);
	return close(card);
}

static void watch(void)
{
	idle_watch(&idle, &(struct idle_source){.fd = card, .is_interrupt = true}, 3, 1);
}

static void interrupt(void)
{
	uint64_t one = 1;

	assert_int_equal(write(card, &one, sizeof(one)), sizeof(one));
}

static void test_an_interrupt_wakes_the_lcore_and_is_on_only_while_it_waits(void **state)
{
	uint64_t count;

	(void)state;
	watch();
	for (int i = 0; i < 3; i++) {
		assert_true(idle_arm(&idle));
		assert_int_equal(on, 1);
		interrupt();
		assert_true(idle_sleep(&idle));
		idle_disarm(&idle);
		assert_int_equal(on, 0);
		assert_int_equal(read(card, &count, sizeof(count)), -1);
		assert_int_equal(errno, EAGAIN);
	}
}

static void test_lcores_nap_if_a_queue_has_no_file_descriptor(void **state)
{
	(void)state;
	watch();
	idle_watch(&idle, &(struct idle_source){.fd = -1}, 4, 0);
	assert_false(idle_arm(&idle));
	assert_int_equal(on, 0);
	assert_true(idle.must_nap);
	idle_forget(&idle);
	watch();
	assert_true(idle_arm(&idle));
}

static void test_lcores_nap_if_the_driver_refuses_to_switch_the_interrupt_on(void **state)
{
	(void)state;
	refusal = -ENOTSUP;
	watch();
	idle_arm(&idle);
	assert_true(idle.must_nap);
	assert_false(idle_arm(&idle));
}

static void test_lcores_nap_after_interrupts_that_did_not_come(void **state)
{
	(void)state;
	watch();
	for (int i = 0; i < IDLE_LOST_INTERRUPTS; i++) {
		assert_true(idle_arm(&idle));
		assert_false(idle_sleep(&idle));
		idle_missed(&idle);
		idle_disarm(&idle);
	}
	assert_false(idle_arm(&idle));
	idle_forget(&idle);
	watch();
	assert_false(idle_arm(&idle));
}

static void test_an_interrupt_that_comes_is_trusted_again(void **state)
{
	(void)state;
	watch();
	for (int i = 0; i < 2 * IDLE_LOST_INTERRUPTS; i++) {
		assert_true(idle_arm(&idle));
		if (i % 2)
			interrupt();
		else
			idle_missed(&idle);
		if (i % 2)
			assert_true(idle_sleep(&idle));
		idle_disarm(&idle);
	}
}

static void test_an_interrupt_that_comes_late_is_not_lost(void **state)
{
	(void)state;
	watch();
	interrupt();
	for (int i = 0; i <= IDLE_LOST_INTERRUPTS; i++)
		idle_missed(&idle);
	assert_int_equal(idle.lost, 0);
}

static void test_an_lcore_that_polls_watches_nothing(void **state)
{
	struct idle polling;

	(void)state;
	assert_int_equal(idle_open(&polling, false), 0);
	idle_forget(&polling);
	idle_watch(&polling, &(struct idle_source){.fd = card, .is_interrupt = true}, 3, 1);
	assert_false(idle_arm(&polling));
	assert_int_equal(polling.fd_count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_an_interrupt_wakes_the_lcore_and_is_on_only_while_it_waits),
		TEST(test_lcores_nap_if_a_queue_has_no_file_descriptor),
		TEST(test_lcores_nap_if_the_driver_refuses_to_switch_the_interrupt_on),
		TEST(test_lcores_nap_after_interrupts_that_did_not_come),
		TEST(test_an_interrupt_that_comes_is_trusted_again),
		TEST(test_an_interrupt_that_comes_late_is_not_lost),
		TEST(test_an_lcore_that_polls_watches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
