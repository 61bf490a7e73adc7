/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "director/ports/vlan_filter.h"

static struct {
	uint16_t ids[ADMISSION_VLANS];
	unsigned count, room;
} card;

/* The test's own definition takes the place of DPDK's. */
int rte_eth_dev_vlan_filter(uint16_t port, uint16_t id, int on)
{
	assert_int_equal(port, 3);
	assert_int_equal(on, 1);
	assert_true(id < 4095);
	if (card.count == card.room)
		return -ENOSPC;
	card.ids[card.count++] = id;
	return 0;
}

static struct port new_port(const char *driver)
{
	struct port port = {.id = 3, .name = "test"};

	port.info.driver_name = driver;
	port.info.rx_offload_capa = RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_SCATTER;
	memset(&card, 0, sizeof(card));
	card.room = ADMISSION_VLANS;
	return port;
}

static struct admission only(uint16_t first, uint16_t second)
{
	struct admission admission = {.check_vlans = true};

	admission.vlans[first / 64] |= 1ull << first % 64;
	admission.vlans[second / 64] |= 1ull << second % 64;
	return admission;
}

static void test_the_card_gets_the_vlans_of_the_list(void **state)
{
	struct port port = new_port("net_e1000_igb_vf");
	struct admission admission = only(100, 4094);

	(void)state;
	assert_true(vlan_filter_offload(&port, &admission) == RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
	vlan_filter_open(&port, &admission);
	assert_int_equal(card.count, 2);
	assert_int_equal(card.ids[0], 100);
	assert_int_equal(card.ids[1], 4094);
}

static void test_a_priority_tag_passes_where_untagged_frames_do(void **state)
{
	struct port port = new_port("net_ixgbe_vf");
	struct admission admission = only(0, 7);

	(void)state;
	vlan_filter_open(&port, &admission);
	assert_int_equal(card.count, 2);
	assert_int_equal(card.ids[0], 0);
	assert_int_equal(card.ids[1], 7);
}

static void test_without_tagged_frames_the_filter_is_left_alone(void **state)
{
	struct port port = new_port("net_virtio");
	struct admission admission = only(0, 0);

	(void)state;
	assert_true(vlan_filter_offload(&port, &admission) == 0);
	vlan_filter_open(&port, &admission);
	assert_int_equal(card.count, 0);
}

static void test_any_vlan_needs_entries_only_on_virtio(void **state)
{
	struct admission any = {0};
	struct port port = new_port("net_e1000_igb");

	(void)state;
	assert_true(vlan_filter_offload(&port, &any) == 0);
	port = new_port("net_virtio");
	vlan_filter_open(&port, &any);
	assert_int_equal(card.count, 4095);
}

static void test_a_driver_without_a_filter_is_not_asked(void **state)
{
	struct port port = new_port("net_vmxnet3");
	struct admission admission = only(100, 200);

	(void)state;
	port.info.rx_offload_capa = 0;
	vlan_filter_open(&port, &admission);
	assert_int_equal(card.count, 0);
}

static void test_the_rest_of_the_list_is_tried_after_a_refusal(void **state)
{
	struct port port = new_port("net_iavf");
	struct admission admission = only(100, 200);

	(void)state;
	card.room = 1;
	vlan_filter_open(&port, &admission);
	assert_int_equal(card.count, 1);
	assert_int_equal(card.ids[0], 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_card_gets_the_vlans_of_the_list),
		cmocka_unit_test(test_a_priority_tag_passes_where_untagged_frames_do),
		cmocka_unit_test(test_without_tagged_frames_the_filter_is_left_alone),
		cmocka_unit_test(test_any_vlan_needs_entries_only_on_virtio),
		cmocka_unit_test(test_a_driver_without_a_filter_is_not_asked),
		cmocka_unit_test(test_the_rest_of_the_list_is_tried_after_a_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
