/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares port maps with the classifier that they are compiled from, within and beyond the limits of their size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "packet/classifier/portmap.h"
#include "tests/unit/table_helpers.h"

static struct table_set set;
static struct classifier *classifier;
static struct portmap *portmap;

static void add_bind(uint32_t table, struct netaddr addr, uint8_t length, uint8_t protocol, uint16_t start, uint16_t end)
{
	struct table *to = &set.tables[table];
	struct table_bind *bind;

	/* Room for the next power of two. */
	if ((to->bind_count & (to->bind_count - 1)) == 0)
		to->binds = realloc(to->binds, (2 * to->bind_count + 1) * sizeof(*to->binds));
	bind = &to->binds[to->bind_count++];
	*bind = (struct table_bind){{addr, length}, start, end, protocol, false};
	netprefix_mask(bind->prefix.addr.bytes, netaddr_size(&addr), length);
}

static void build(const struct portmap_limits *limits)
{
	classifier = classify_build(&set);
	assert_non_null(classifier);
	portmap = portmap_build(classifier, limits);
	assert_non_null(portmap);
}

/* bit i of `tables`: table i has a bind that found no room */
static void assert_misfits(uint64_t tables)
{
	assert_int_equal(portmap->misfit_tables.words[0], tables);
	assert_int_equal(table_mask_next(&portmap->misfit_tables, 64), TABLE_MAX_TABLES);
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

static int find(struct netaddr addr, uint8_t protocol, uint16_t port)
{
	return portmap_find(portmap, addr.family, addr.bytes, protocol, port);
}

static void assert_same_prefix(struct netaddr addr)
{
	uint32_t prefix = portmap_prefix(portmap, addr.family, addr.bytes);

	assert_int_equal(classify_address_of(classifier, prefix), classify_address(classifier, addr.family, addr.bytes));
	assert_int_equal(
		classify_fragment_of(classifier, prefix), classify_fragment(classifier, addr.family, addr.bytes));
}

static int expected(struct netaddr addr, uint8_t protocol, uint16_t port)
{
	return classify_order(classify_port(classifier, addr.family, addr.bytes, protocol, port));
}

static void assert_agrees(struct netaddr addr, uint8_t protocol, uint16_t port)
{
	assert_int_equal(find(addr, protocol, port), expected(addr, protocol, port));
	assert_same_prefix(addr);
}

/* The flat copy has the entries of the pages, the last one included. */
static void assert_flat(void)
{
	for (uint32_t i = 0; portmap->flat && i < 2000; i++) {
		uint32_t map = i ? random_below(portmap->map_count) : portmap->map_count - 1;
		uint32_t port = i ? random_below(65536) : 65535;
		uint32_t page = portmap->maps[map * 256 + port / 256];

		assert_int_equal(portmap->flat[port * portmap->map_count + map], portmap->pages[page * 256 + port % 256]);
	}
}

/* Binds with every prefix length, or with few. */
static void add_random_binds(uint32_t count, bool all_lengths)
{
	static const uint8_t lengths[2][4] = {{32, 24, 16, 0}, {128, 80, 24, 0}};

	for (; count > 0; count--) {
		struct netaddr addr = few_addr();
		bool v6 = addr.family == NETADDR_V6;
		uint16_t start = (uint16_t)(random_below(4) ? random_below(64) : 230 + random_below(300));
		uint8_t length = all_lengths ? (uint8_t)random_below(v6 ? 129 : 33) : lengths[v6][random_below(4)];

		add_bind(random_below(set.count), addr, length, random_below(2) ? TABLE_TCP : TABLE_UDP, start,
			(uint16_t)(random_below(8)   ? start + random_below(8)
				   : random_below(4) ? 65535
						     : 511));
	}
}

static uint16_t random_port(void)
{
	return (uint16_t)(random_below(4) ? random_below(600) : random_u64());
}

static void test_random_binds_agree_with_the_classifier(void **state)
{
	for (uint32_t round = 0; round < 60; round++) {
		set = random_set(1 + random_below(round % 10 ? 6 : TABLE_MAX_TABLES));
		add_random_binds(random_below(200), round % 2);
		build(&portmap_limits);
		assert_int_equal(portmap->misfits, 0);
		assert_misfits(0);
		assert_non_null(portmap->flat);
		assert_flat();
		for (int i = 0; i < 5000; i++)
			assert_agrees(few_addr(), random_below(2) ? TABLE_TCP : TABLE_UDP, random_port());
		clear(state);
	}
}

/* Each answer of the port maps is right. The classifier has to be asked only if a limit is exceeded. */
static void test_random_binds_beyond_the_limits_never_find_a_wrong_table(void **state)
{
	uint32_t unknown = 0, known = 0;

	for (uint32_t round = 0; round < 120; round++) {
		struct portmap_limits limits = {2 + random_below(60), 2 + random_below(30), random_below(40)};

		set = random_set(1 + random_below(round % 10 ? 6 : TABLE_MAX_TABLES));
		add_random_binds(random_below(120), round % 2);
		build(&limits);
		assert_in_range(portmap->map_count, 2, limits.maps);
		assert_in_range(portmap->page_count, 2, limits.pages);
		assert_int_equal(portmap->flat != NULL, portmap->map_count <= limits.flat_maps);
		assert_flat();
		for (int i = 0; i < 5000; i++) {
			struct netaddr addr = few_addr();
			uint8_t protocol = random_below(2) ? TABLE_TCP : TABLE_UDP;
			uint16_t port = random_port();
			int found = find(addr, protocol, port);

			if (found == PORTMAP_UNKNOWN)
				assert_int_not_equal(portmap->misfits, 0);
			else
				assert_int_equal(found, expected(addr, protocol, port));
			unknown += found == PORTMAP_UNKNOWN;
			known += found >= 0;
		}
		clear(state);
	}
	assert_in_range(unknown, 50000, 500000);
	assert_in_range(known, 50000, 500000);
}

static void test_thousands_of_host_binds_match_only_their_hosts(void **state)
{
	(void)state;
	set = random_set(64);
	for (uint32_t i = 0; i < 64 * 256; i++)
		add_bind(i % 64, v4(i * 2654435761u), 32, TABLE_TCP, 80, 80);
	build(&portmap_limits);
	for (uint32_t i = 0; i < 64 * 256; i++) {
		assert_agrees(v4(i * 2654435761u), TABLE_TCP, 80);
		assert_agrees(v4(i * 2654435761u), TABLE_UDP, 80);
		assert_agrees(v4(i * 2654435761u + 1), TABLE_TCP, 80);
	}
	assert_int_equal(portmap->map_count, 2 + 64); /* equal maps are shared */
	assert_int_equal(portmap->v4_levels, 1);
	assert_in_range(portmap->memory, 66 * 65536, 16 << 20);
}

/* Binds of `count` prefix lengths, the shortest one /first. */
static void add_lengths(struct netaddr addr, uint8_t first, uint8_t count)
{
	for (uint8_t length = first; length < first + count; length++)
		add_bind(length % 2, addr, length, TABLE_TCP, length, length);
}

static void test_any_number_of_prefix_lengths_agrees_with_the_classifier(void **state)
{
	static const uint8_t counts[][2] = {{8, 8}, {9, 9}, {10, 10}, {33, 129}};
	struct netaddr six = netaddr_from_bytes(NETADDR_V6, "0123456789abcdef");

	for (unsigned i = 0; i < 4; i++) {
		set = random_set(2);
		add_lengths(v4(0x0a0a0a0a), (uint8_t)(33 - counts[i][0]), counts[i][0]);
		add_lengths(six, (uint8_t)(129 - counts[i][1]), counts[i][1]);
		build(&portmap_limits);
		assert_int_equal(portmap->misfits, 0);
		assert_int_equal(portmap->v4_levels, counts[i][0]);
		assert_int_equal(portmap->v6_levels, counts[i][1]);
		for (uint16_t port = 0; port < 130; port++) {
			for (unsigned bit = 0; bit < 32; bit++)
				assert_agrees(v4(0x0a0a0a0a ^ 1u << bit), TABLE_TCP, port);
			assert_agrees(v4(0x0a0a0a0a), TABLE_TCP, port);
			assert_agrees(six, TABLE_TCP, port);
		}
		clear(state);
	}
}

/* Adds a bind for each of `count` addresses, and each has its own port. */
static void add_different_maps(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		add_bind(i % 2, v4(0x0a000000 | i), 32, TABLE_TCP, (uint16_t)i, (uint16_t)i);
}

static void test_port_maps_have_a_flat_copy_up_to_256(void **state)
{
	static const uint32_t counts[] = {2, 3, 4, 5, PORTMAP_FLAT_MAPS - 1, PORTMAP_FLAT_MAPS, PORTMAP_FLAT_MAPS + 1};

	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		uint32_t maps = counts[i];

		set = random_set(2);
		add_different_maps(maps - 2);
		build(&portmap_limits);
		assert_int_equal(portmap->map_count, maps);
		assert_int_equal(portmap->flat != NULL, maps <= PORTMAP_FLAT_MAPS);
		assert_flat();
		clear(state);
	}
}

static void test_more_than_1024_port_maps_need_little_memory(void **state)
{
	for (uint32_t maps = 1024; maps <= 1025; maps++) {
		set = random_set(2);
		add_different_maps(maps - 2);
		build(&portmap_limits);
		assert_int_equal(portmap->map_count, maps);
		assert_int_equal(portmap->misfits, 0);
		assert_in_range(portmap->memory, 1024 * 512, 2 << 20);
		for (uint32_t i = 0; i < maps; i++)
			assert_agrees(v4(0x0a000000 | i), TABLE_TCP, (uint16_t)(i - i % 2));
		clear(state);
	}
}

static void test_only_the_prefix_beyond_the_last_port_map_is_a_misfit(void **state)
{
	for (uint32_t prefixes = PORTMAP_MAX_MAPS - 2; prefixes <= PORTMAP_MAX_MAPS - 1; prefixes++) {
		bool beyond = prefixes == PORTMAP_MAX_MAPS - 1;

		set = random_set(3);
		add_different_maps(PORTMAP_MAX_MAPS - 2);
		if (beyond)
			add_bind(2, v4(0x0b000000), 32, TABLE_UDP, 53, 53);
		build(&portmap_limits);
		assert_int_equal(portmap->map_count, PORTMAP_MAX_MAPS);
		assert_int_equal(portmap->misfits, beyond);
		assert_misfits(beyond ? 1 << 2 : 0);
		assert_int_equal(find(v4(0x0b000000), TABLE_UDP, 53), beyond ? PORTMAP_UNKNOWN : CLASSIFY_NONE);
		assert_agrees(v4(0x0b000000), TABLE_TCP, 53);
		for (uint32_t i = 0; i < PORTMAP_MAX_MAPS; i++)
			assert_agrees(v4(0x0a000000 | i), TABLE_TCP, (uint16_t)i);
		clear(state);
	}
}

static void test_only_the_ports_beyond_the_last_page_are_misfits(void **state)
{
	const struct portmap_limits limits = {.maps = 100, .pages = 4};

	(void)state;
	set = random_set(2);
	add_bind(0, v4(1), 32, TABLE_TCP, 1, 1);
	add_bind(0, v4(1), 32, TABLE_TCP, 257, 258);
	add_bind(1, v4(1), 32, TABLE_TCP, 600, 600); /* there is no fifth page for it */
	add_bind(0, v4(2), 32, TABLE_TCP, 513, 514); /* has the entries of an earlier page */
	build(&limits);
	assert_int_equal(portmap->page_count, 4);
	assert_int_equal(portmap->misfits, 1);
	assert_misfits(3);
	for (uint32_t port = 0; port < 65536; port++) {
		assert_agrees(v4(2), TABLE_TCP, (uint16_t)port);
		if (port / 256 == 600 / 256)
			assert_int_equal(find(v4(1), TABLE_TCP, (uint16_t)port), PORTMAP_UNKNOWN);
		else
			assert_agrees(v4(1), TABLE_TCP, (uint16_t)port);
	}
}

static void test_prefixes_inside_a_misfit_are_misfits(void **state)
{
	const struct portmap_limits limits = {.maps = 3, .pages = 100};

	(void)state;
	set = random_set(3);
	add_bind(0, v4(0x01000000), 8, TABLE_TCP, 80, 80);
	add_bind(1, v4(0x0a000000), 8, TABLE_TCP, 80, 80);
	add_bind(2, v4(0x0a000001), 32, TABLE_TCP, 80, 81);
	build(&limits);
	assert_int_equal(portmap->misfits, 2);
	assert_misfits(6);
	assert_int_equal(find(v4(0x0a000001), TABLE_TCP, 80), PORTMAP_UNKNOWN);
	assert_agrees(v4(0x01000001), TABLE_TCP, 80);
	assert_agrees(v4(0x0a000001), TABLE_UDP, 80);
}

/* Prefixes that all have one bucket in the perfect hash, so that no multiplier gives them different slots. */
static void test_prefixes_that_one_perfect_hash_cannot_hold_get_more_levels(void **state)
{
	uint32_t inverse = 1;

	(void)state;
	for (int i = 0; i < 5; i++) /* Newton's iteration: correct bits double */
		inverse *= 2 - PERFECT_BUCKET_MULTIPLIER * inverse;
	assert_int_equal(inverse * PERFECT_BUCKET_MULTIPLIER, 1);
	set = random_set(2);
	for (uint32_t i = 0; i < 400; i++)
		add_bind(i % 2, v4(__builtin_bswap32(random_below(1 << 20) * inverse)), 32, TABLE_TCP, 80, 80);
	build(&portmap_limits);
	assert_in_range(portmap->v4_levels, 2, 40);
	for (uint32_t i = 0; i < 400; i++)
		assert_agrees(set.tables[i % 2].binds[i / 2].prefix.addr, TABLE_TCP, 80);
}

/* There are so many prefixes that some fold to the same key with any factors. */
static void test_ipv6_prefixes_with_equal_keys_get_another_level(void **state)
{
	enum { COUNT = 64 * 4096 };
	uint8_t bytes[16] = {0x20, 1};

	(void)state;
	set = random_set(1);
	set.tables[0].binds = realloc(set.tables[0].binds, COUNT * sizeof(*set.tables[0].binds));
	set.tables[0].bind_count = COUNT;
	for (uint32_t i = 0; i < COUNT; i++) {
		memcpy(bytes + 8, &(uint64_t){random_u64()}, 8);
		set.tables[0].binds[i] =
			(struct table_bind){{netaddr_from_bytes(NETADDR_V6, bytes), 128}, 80, 80, TABLE_TCP, false};
	}
	build(&portmap_limits);
	assert_int_equal(portmap->v6_levels, 2);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(find(set.tables[0].binds[i].prefix.addr, TABLE_TCP, 80), 1);
}

static void test_portmap_without_binds_matches_nothing(void **state)
{
	(void)state;
	set = random_set(0);
	build(&portmap_limits);
	assert_agrees(v4(1), TABLE_TCP, 80);
	assert_agrees(few_addr(), TABLE_UDP, 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_random_binds_agree_with_the_classifier, clear),
		cmocka_unit_test_teardown(test_random_binds_beyond_the_limits_never_find_a_wrong_table, clear),
		cmocka_unit_test_teardown(test_thousands_of_host_binds_match_only_their_hosts, clear),
		cmocka_unit_test_teardown(test_any_number_of_prefix_lengths_agrees_with_the_classifier, clear),
		cmocka_unit_test_teardown(test_port_maps_have_a_flat_copy_up_to_256, clear),
		cmocka_unit_test_teardown(test_more_than_1024_port_maps_need_little_memory, clear),
		cmocka_unit_test_teardown(test_only_the_prefix_beyond_the_last_port_map_is_a_misfit, clear),
		cmocka_unit_test_teardown(test_only_the_ports_beyond_the_last_page_are_misfits, clear),
		cmocka_unit_test_teardown(test_prefixes_inside_a_misfit_are_misfits, clear),
		cmocka_unit_test_teardown(test_prefixes_that_one_perfect_hash_cannot_hold_get_more_levels, clear),
		cmocka_unit_test_teardown(test_ipv6_prefixes_with_equal_keys_get_another_level, clear),
		cmocka_unit_test_teardown(test_portmap_without_binds_matches_nothing, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
