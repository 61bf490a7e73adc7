/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: losses within the window. The test takes the place of the workers and of the ports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "director/health/health_watch.h"

static struct ports ports;
static struct health_watch watch;
static struct counters counted;
static struct rte_eth_stats port;

void workers_sum(const struct workers *unused, struct counters *sum)
{
	(void)unused;
	*sum = counted;
}

int rte_eth_stats_get(uint16_t id, struct rte_eth_stats *stats)
{
	(void)id;
	*stats = port;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&ports, 0, sizeof(ports));
	watch = (struct health_watch){.ports = &ports};
	memset(&counted, 0, sizeof(counted));
	memset(&port, 0, sizeof(port));
	ports.count = 1;
	ports.list[0].rx_queues = 1;
	health_traffic_sample(&watch);
	return 0;
}

static struct health_report tick(void)
{
	struct health_report report = {0};

	health_traffic_sample(&watch);
	health_traffic(&watch, &report);
	return report;
}

static void expect(enum health_cause cause, enum health_severity severity)
{
	struct health_report report = tick();

	assert_int_equal(report.count, 1);
	assert_int_equal(report.reasons[0].cause, cause);
	assert_int_equal(report.reasons[0].severity, severity);
}

static void test_losses_below_one_percent_are_no_reason(void **state)
{
	(void)state;
	assert_int_equal(tick().count, 0);
	counted.tx_packets = counted.received = counted.verdicts[VERDICT_EXCEPTION] = 9999;
	counted.verdicts[VERDICT_DROP_TX_FULL] = counted.verdicts[VERDICT_DROP_EXCEPTION_FULL] = port.imissed = 99;
	assert_int_equal(tick().count, 0);
}

static void test_transmit_fails(void **state)
{
	(void)state;
	counted.tx_packets = 990;
	counted.verdicts[VERDICT_DROP_TX_FULL] = 10;
	expect(HEALTH_TRANSMIT_FAILS, HEALTH_DEGRADES);
	counted.verdicts[VERDICT_DROP_TX_FULL] = 991;
	expect(HEALTH_TRANSMIT_FAILS, HEALTH_FAILS);
}

static void test_one_lost_packet_of_an_idle_director_does_not_fail_it(void **state)
{
	(void)state;
	counted.verdicts[VERDICT_DROP_TX_FULL] = 1;
	expect(HEALTH_TRANSMIT_FAILS, HEALTH_DEGRADES);
}

static void test_receive_fails(void **state)
{
	(void)state;
	counted.received = 1000;
	port.imissed = 9;
	port.rx_nombuf = 1;
	assert_int_equal(tick().count, 0);
	counted.verdicts[VERDICT_DROP_NO_BUFFER] = 1;
	expect(HEALTH_RECEIVE_FAILS, HEALTH_DEGRADES);
	port.imissed = 1000000;
	expect(HEALTH_RECEIVE_FAILS, HEALTH_DEGRADES); /* a flood must not withdraw the director */
}

static void test_exception_drops(void **state)
{
	(void)state;
	counted.verdicts[VERDICT_EXCEPTION] = 1;
	counted.verdicts[VERDICT_DROP_EXCEPTION_FULL] = 1000;
	expect(HEALTH_EXCEPTION_DROPS, HEALTH_DEGRADES);
}

static void test_reason_goes_after_the_window(void **state)
{
	(void)state;
	counted.verdicts[VERDICT_DROP_TX_FULL] = 1000;
	for (int i = 1; i < HEALTH_WINDOW_TICKS; i++)
		expect(HEALTH_TRANSMIT_FAILS, HEALTH_FAILS);
	assert_int_equal(tick().count, 0);
}

/* The driver's counters begin at 0 again after a reset, and are not read while it lasts. */
static void test_reset_of_a_port_is_no_loss(void **state)
{
	(void)state;
	port.imissed = 1000;
	tick();
	for (int i = 0; i < 2 * HEALTH_WINDOW_TICKS; i++)
		tick();
	assert_int_equal(tick().count, 0);
	ports.list[0].state = PORT_RESETTING;
	assert_int_equal(tick().count, 0);
	port.imissed = 0;
	ports.list[0].state = PORT_RUNNING;
	assert_int_equal(tick().count, 0);
	port.imissed = 5;
	expect(HEALTH_RECEIVE_FAILS, HEALTH_DEGRADES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_losses_below_one_percent_are_no_reason, set_up),
		cmocka_unit_test_setup(test_transmit_fails, set_up),
		cmocka_unit_test_setup(test_one_lost_packet_of_an_idle_director_does_not_fail_it, set_up),
		cmocka_unit_test_setup(test_receive_fails, set_up),
		cmocka_unit_test_setup(test_exception_drops, set_up),
		cmocka_unit_test_setup(test_reason_goes_after_the_window, set_up),
		cmocka_unit_test_setup(test_reset_of_a_port_is_no_loss, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
