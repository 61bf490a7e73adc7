/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares port maps with the classifier that they are compiled from, and tests the limits of their size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "packet/portmap.h"
#include "tests/unit/table_helpers.h"

static struct table_set set;
static struct classifier *classifier;
static struct portmap *portmap;

static void add_bind(uint32_t table, struct netaddr addr, uint8_t length, uint8_t protocol, uint16_t start, uint16_t end)
{
	struct table *to = &set.tables[table];
	struct table_bind *bind;

	to->binds = realloc(to->binds, (to->bind_count + 1) * sizeof(*to->binds));
	bind = &to->binds[to->bind_count++];
	*bind = (struct table_bind){{addr, length}, start, end, protocol};
	netprefix_mask(bind->prefix.addr.bytes, netaddr_size(&addr), length);
}

static void build(void)
{
	classifier = classify_build(&set);
	assert_non_null(classifier);
	portmap = portmap_build(classifier);
}

static int clear(void **state)
{
	(void)state;
	portmap_free(portmap);
	classify_free(classifier);
	table_set_free(&set);
	portmap = NULL;
	classifier = NULL;
	return 0;
}

static struct netaddr v4(uint32_t address)
{
	address = __builtin_bswap32(address);
	return netaddr_from_bytes(NETADDR_V4, &address);
}

/* An address with few random bits, so that binds often match. */
static struct netaddr few_addr(void)
{
	struct netaddr addr = v4(0x0a000000 | random_below(4) << 16 | random_below(4) << 8 | random_below(8));
	uint8_t bytes[16] = {0xfd, 0xb4};

	if (random_below(2))
		return addr;
	bytes[2] = (uint8_t)random_below(4);
	bytes[9] = (uint8_t)random_below(4);
	bytes[15] = (uint8_t)random_below(8);
	return netaddr_from_bytes(NETADDR_V6, bytes);
}

static void assert_agrees(struct netaddr addr, uint8_t protocol, uint16_t port)
{
	assert_int_equal(portmap_find(portmap, addr.family, addr.bytes, protocol, port),
		classify_port(classifier, addr.family, addr.bytes, protocol, port));
}

static void test_random_binds_agree_with_the_classifier(void **state)
{
	static const uint8_t lengths[2][4] = {{32, 24, 16, 0}, {128, 80, 24, 0}};

	for (int round = 0; round < 60; round++) {
		set = random_set(1 + random_below(round % 10 ? 6 : TABLE_MAX_TABLES));
		for (uint32_t binds = random_below(200); binds > 0; binds--) {
			struct netaddr addr = few_addr();
			uint16_t start = (uint16_t)random_below(64);

			add_bind(random_below(set.count), addr, lengths[addr.family == NETADDR_V6][random_below(4)],
				random_below(2) ? TABLE_TCP : TABLE_UDP, start,
				(uint16_t)(random_below(8) ? start + random_below(8) : 65535));
		}
		build();
		assert_non_null(portmap);
		for (int i = 0; i < 5000; i++)
			assert_agrees(few_addr(), random_below(2) ? TABLE_TCP : TABLE_UDP,
				(uint16_t)(random_below(4) ? random_below(80) : random_u64()));
		clear(state);
	}
}

static void test_thousands_of_host_binds_match_only_their_hosts(void **state)
{
	(void)state;
	set = random_set(64);
	for (uint32_t i = 0; i < 64 * 256; i++)
		add_bind(i % 64, v4(i * 2654435761u), 32, TABLE_TCP, 80, 80);
	build();
	assert_non_null(portmap);
	for (uint32_t i = 0; i < 64 * 256; i++) {
		assert_agrees(v4(i * 2654435761u), TABLE_TCP, 80);
		assert_agrees(v4(i * 2654435761u), TABLE_UDP, 80);
		assert_agrees(v4(i * 2654435761u + 1), TABLE_TCP, 80);
	}
	assert_int_equal(portmap->map_count, 1 + 64); /* equal maps are shared */
	assert_in_range(portmap->memory, 65 * 65536, 16 << 20);
}

static void test_no_portmap_for_too_many_prefix_lengths(void **state)
{
	(void)state;
	set = random_set(1);
	for (uint8_t length = 8; length <= 8 + PORTMAP_MAX_LEVELS; length++)
		add_bind(0, v4(0x0a0a0a0a), length, TABLE_TCP, 80, 80);
	build();
	assert_null(portmap);
	clear(state);
	set = random_set(1);
	for (uint8_t length = 8; length <= 8 + PORTMAP_MAX_LEVELS; length++)
		add_bind(0, netaddr_from_bytes(NETADDR_V6, "0123456789abcdef"), length, TABLE_TCP, 80, 80);
	build();
	assert_null(portmap);
}

static void test_portmap_for_the_largest_number_of_prefix_lengths(void **state)
{
	(void)state;
	set = random_set(1);
	for (uint8_t length = 9; length <= 8 + PORTMAP_MAX_LEVELS; length++) {
		add_bind(0, v4(0x0a0a0a0a), length, TABLE_TCP, 80, 80);
		add_bind(0, netaddr_from_bytes(NETADDR_V6, "0123456789abcdef"), length, TABLE_TCP, 80, 80);
	}
	build();
	assert_non_null(portmap);
	assert_agrees(v4(0x0a0a0a0a), TABLE_TCP, 80);
}

static void test_no_portmap_for_too_many_port_maps(void **state)
{
	(void)state;
	set = random_set(1);
	for (uint32_t i = 0; i < PORTMAP_MAX_MAPS; i++)
		add_bind(0, v4(0x0a000000 | i), 32, TABLE_TCP, (uint16_t)i, (uint16_t)i);
	build();
	assert_null(portmap);
	clear(state);
	set = random_set(1);
	for (uint32_t i = 0; i + 1 < PORTMAP_MAX_MAPS; i++)
		add_bind(0, v4(0x0a000000 | i), 32, TABLE_TCP, (uint16_t)i, (uint16_t)i);
	build();
	assert_non_null(portmap);
	assert_agrees(v4(0x0a000000 | 77), TABLE_TCP, 77);
}

static void test_portmap_without_binds_matches_nothing(void **state)
{
	(void)state;
	set = random_set(0);
	build();
	assert_non_null(portmap);
	assert_agrees(v4(1), TABLE_TCP, 80);
	assert_agrees(few_addr(), TABLE_UDP, 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_random_binds_agree_with_the_classifier, clear),
		cmocka_unit_test_teardown(test_thousands_of_host_binds_match_only_their_hosts, clear),
		cmocka_unit_test_teardown(test_no_portmap_for_too_many_prefix_lengths, clear),
		cmocka_unit_test_teardown(test_portmap_for_the_largest_number_of_prefix_lengths, clear),
		cmocka_unit_test_teardown(test_no_portmap_for_too_many_port_maps, clear),
		cmocka_unit_test_teardown(test_portmap_without_binds_matches_nothing, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
