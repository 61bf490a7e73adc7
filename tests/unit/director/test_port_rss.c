/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "director/ports/port_rss.h"

/* A driver that takes keys of `size` bytes, or refuses every key. */
static struct {
	uint64_t fields;
	uint8_t size;
	bool refuses_keys, fails;
	int calls;
	struct rte_eth_conf conf;
	uint8_t key[UINT8_MAX];
} driver;

/* The test's own definition takes the place of DPDK's. */
int rte_eth_dev_configure(uint16_t port, uint16_t rx_queues, uint16_t tx_queues, const struct rte_eth_conf *conf)
{
	const struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;

	assert_int_equal(port, 3);
	assert_int_equal(rx_queues + tx_queues, 2 * rx_queues);
	driver.calls++;
	driver.conf = *conf;
	memset(driver.key, 0, sizeof(driver.key));
	if (driver.fails)
		return -EIO;
	if (!rss->rss_key) {
		assert_int_equal(rss->rss_key_len, 0);
		return 0;
	}
	if (driver.refuses_keys)
		return -EINVAL;
	assert_int_equal(rss->rss_key_len, driver.size);
	memcpy(driver.key, rss->rss_key, rss->rss_key_len);
	return 0;
}

static struct port new_port(uint16_t queues)
{
	struct port port = {.id = 3, .name = "net_test", .rx_queues = queues, .tx_queues = queues};

	port.info.driver_name = "net_test";
	port.info.flow_type_rss_offloads = driver.fields;
	port.info.hash_key_size = driver.size;
	return port;
}

static int set_up(struct port *port, enum conf_rss_fields fields)
{
	const struct conf conf = {.rss_fields = fields};
	struct rte_eth_conf device = {0};

	port_rss_fill(port, &conf, &device);
	return port_rss_configure(port, &device);
}

static int reset_driver(void **state)
{
	(void)state;
	memset(&driver, 0, sizeof(driver));
	driver.fields = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;
	driver.size = 40;
	return 0;
}

static void test_each_port_gets_another_key_of_the_size_that_the_driver_wants(void **state)
{
	static const uint8_t zero[UINT8_MAX];
	uint8_t first[UINT8_MAX];

	(void)state;
	for (int size = 40; size <= 52; size += 12) {
		struct port port, other;

		driver.size = (uint8_t)size;
		port = new_port(4);
		other = new_port(4);
		assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES_AND_PORTS), 0);
		memcpy(first, driver.key, sizeof(first));
		assert_memory_not_equal(first, zero, 40);
		assert_memory_equal(first + size, zero, sizeof(first) - (size_t)size);
		assert_int_equal(set_up(&other, CONF_RSS_ADDRESSES_AND_PORTS), 0);
		assert_memory_not_equal(driver.key, first, 40);
	}
}

static void test_a_port_that_is_set_up_again_keeps_its_key(void **state)
{
	struct port port = new_port(2);
	uint8_t first[UINT8_MAX];

	(void)state;
	assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES), 0);
	memcpy(first, driver.key, sizeof(first));
	assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES), 0);
	assert_memory_equal(driver.key, first, sizeof(first));
}

static void test_fields_are_those_of_the_configuration_and_of_the_driver(void **state)
{
	const uint64_t ports = RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;
	struct port port = new_port(2);

	(void)state;
	assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES_AND_PORTS), 0);
	assert_int_equal(driver.conf.rxmode.mq_mode, RTE_ETH_MQ_RX_RSS);
	assert_true(driver.conf.rx_adv_conf.rss_conf.rss_hf == (RTE_ETH_RSS_IP | ports));
	assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES), 0);
	assert_true(driver.conf.rx_adv_conf.rss_conf.rss_hf == RTE_ETH_RSS_IP);
	port.info.flow_type_rss_offloads = RTE_ETH_RSS_IPV4;
	assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES_AND_PORTS), 0);
	assert_true(driver.conf.rx_adv_conf.rss_conf.rss_hf == RTE_ETH_RSS_IPV4);
}

static void test_a_driver_that_refuses_the_key_uses_its_own(void **state)
{
	struct port port = new_port(2);

	(void)state;
	driver.refuses_keys = true;
	assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES_AND_PORTS), 0);
	assert_int_equal(driver.calls, 2);
	assert_int_equal(driver.conf.rxmode.mq_mode, RTE_ETH_MQ_RX_RSS);
	assert_null(driver.conf.rx_adv_conf.rss_conf.rss_key);
}

static void test_a_driver_without_a_key_size_gets_no_key(void **state)
{
	struct port port;

	(void)state;
	driver.size = 0;
	port = new_port(2);
	assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES_AND_PORTS), 0);
	assert_int_equal(driver.calls, 1);
	assert_int_equal(driver.conf.rxmode.mq_mode, RTE_ETH_MQ_RX_RSS);
}

static void test_there_is_no_rss_with_one_queue_or_a_driver_that_has_none(void **state)
{
	struct port port = new_port(1);

	(void)state;
	assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES_AND_PORTS), 0);
	assert_int_equal(driver.conf.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE);
	driver.fields = 0;
	port = new_port(2);
	assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES_AND_PORTS), 0);
	assert_int_equal(driver.conf.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE);
	assert_null(driver.conf.rx_adv_conf.rss_conf.rss_key);
}

static void test_only_a_card_without_rss_fills_one_queue(void **state)
{
	struct port port = {.name = "0000:03:10.0", .info.driver_name = "net_e1000_igb_vf"};

	(void)state;
	assert_true(port_rss_is_missing(&port));
	port.info.flow_type_rss_offloads = RTE_ETH_RSS_IPV4;
	assert_false(port_rss_is_missing(&port));
	port = (struct port){.name = "0000:03:00.0", .info.driver_name = "net_virtio"};
	assert_false(port_rss_is_missing(&port));
	port = (struct port){.name = "net_af_packet0", .info.driver_name = "net_af_packet"};
	assert_false(port_rss_is_missing(&port));
}

static void test_an_error_that_is_not_about_the_key_is_returned(void **state)
{
	struct port port = new_port(2);

	(void)state;
	driver.fails = true;
	assert_int_equal(set_up(&port, CONF_RSS_ADDRESSES_AND_PORTS), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_port_gets_another_key_of_the_size_that_the_driver_wants, reset_driver),
		cmocka_unit_test_setup(test_a_port_that_is_set_up_again_keeps_its_key, reset_driver),
		cmocka_unit_test_setup(test_fields_are_those_of_the_configuration_and_of_the_driver, reset_driver),
		cmocka_unit_test_setup(test_a_driver_that_refuses_the_key_uses_its_own, reset_driver),
		cmocka_unit_test_setup(test_a_driver_without_a_key_size_gets_no_key, reset_driver),
		cmocka_unit_test_setup(test_there_is_no_rss_with_one_queue_or_a_driver_that_has_none, reset_driver),
		cmocka_unit_test_setup(test_only_a_card_without_rss_fills_one_queue, reset_driver),
		cmocka_unit_test_setup(test_an_error_that_is_not_about_the_key_is_returned, reset_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
