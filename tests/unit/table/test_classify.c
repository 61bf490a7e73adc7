/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "table/classify.h"
#include "tests/unit/handmade.h"

static struct table_set set;
static struct classifier *classifier;

static int clear(void **state)
{
	(void)state;
	classify_free(classifier);
	classifier = NULL;
	table_set_free(&set);
	return 0;
}

/* Adds `count` tables without binds. */
static void tables(unsigned count)
{
	while (count--)
		handmade_table(&set, 1, 1);
}

static void build(void)
{
	classifier = classify_build(&set);
	assert_non_null(classifier);
}

static int port_of(const char *address, uint8_t protocol, uint16_t port)
{
	struct netaddr addr;

	assert_true(netaddr_parse(address, &addr));
	return classify_table(classify_port(classifier, addr.family, addr.bytes, protocol, port));
}

static int address_of(const char *address)
{
	struct netaddr addr;

	assert_true(netaddr_parse(address, &addr));
	return classify_table(classify_address(classifier, addr.family, addr.bytes));
}

static int fragment_of(const char *address)
{
	struct netaddr addr;

	assert_true(netaddr_parse(address, &addr));
	return classify_table(classify_fragment(classifier, addr.family, addr.bytes));
}

static void test_nothing_matches_without_binds(void **state)
{
	(void)state;
	build();
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 80), CLASSIFY_NONE);
	assert_int_equal(address_of("10.0.0.1"), CLASSIFY_NONE);
	assert_int_equal(fragment_of("::1"), CLASSIFY_NONE);
	clear(state);
	tables(2);
	build();
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 80), CLASSIFY_NONE);
	assert_int_equal(fragment_of("10.0.0.1"), CLASSIFY_NONE);
}

static void test_address_protocol_and_port_must_all_match(void **state)
{
	(void)state;
	tables(1);
	handmade_bind(&set, 0, "10.0.0.1", TABLE_TCP, 80, 80);
	build();
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 80), 0);
	assert_int_equal(port_of("10.0.0.2", TABLE_TCP, 80), CLASSIFY_NONE);
	assert_int_equal(port_of("10.0.0.1", TABLE_UDP, 80), CLASSIFY_NONE);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 79), CLASSIFY_NONE);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 81), CLASSIFY_NONE);
}

static void test_port_ranges_are_inclusive(void **state)
{
	(void)state;
	tables(2);
	handmade_bind(&set, 0, "10.0.0.1", TABLE_UDP, 1000, 1999);
	handmade_bind(&set, 1, "10.0.0.2", TABLE_TCP, 0, 65535);
	build();
	assert_int_equal(port_of("10.0.0.1", TABLE_UDP, 999), CLASSIFY_NONE);
	assert_int_equal(port_of("10.0.0.1", TABLE_UDP, 1000), 0);
	assert_int_equal(port_of("10.0.0.1", TABLE_UDP, 1999), 0);
	assert_int_equal(port_of("10.0.0.1", TABLE_UDP, 2000), CLASSIFY_NONE);
	assert_int_equal(port_of("10.0.0.2", TABLE_TCP, 0), 1);
	assert_int_equal(port_of("10.0.0.2", TABLE_TCP, 65535), 1);
}

static void test_prefix_covers_its_first_and_last_address(void **state)
{
	(void)state;
	tables(2);
	handmade_bind(&set, 0, "10.1.4.0/22", TABLE_TCP, 80, 80);
	handmade_bind(&set, 1, "fdb4:0:0:8::/61", TABLE_TCP, 80, 80);
	build();
	assert_int_equal(port_of("10.1.3.255", TABLE_TCP, 80), CLASSIFY_NONE);
	assert_int_equal(port_of("10.1.4.0", TABLE_TCP, 80), 0);
	assert_int_equal(port_of("10.1.7.255", TABLE_TCP, 80), 0);
	assert_int_equal(port_of("10.1.8.0", TABLE_TCP, 80), CLASSIFY_NONE);
	assert_int_equal(port_of("fdb4:0:0:7:ffff::1", TABLE_TCP, 80), CLASSIFY_NONE);
	assert_int_equal(port_of("fdb4:0:0:8::", TABLE_TCP, 80), 1);
	assert_int_equal(port_of("fdb4:0:0:f:ffff:ffff:ffff:ffff", TABLE_TCP, 80), 1);
	assert_int_equal(port_of("fdb4:0:0:10::", TABLE_TCP, 80), CLASSIFY_NONE);
}

static void test_prefix_of_length_0_covers_only_its_family(void **state)
{
	(void)state;
	tables(2);
	handmade_bind(&set, 0, "0.0.0.0/0", TABLE_TCP, 80, 80);
	handmade_bind(&set, 1, "::/0", TABLE_TCP, 81, 81);
	build();
	assert_int_equal(port_of("255.255.255.255", TABLE_TCP, 80), 0);
	assert_int_equal(port_of("0.0.0.0", TABLE_TCP, 81), CLASSIFY_NONE);
	assert_int_equal(port_of("::", TABLE_TCP, 80), CLASSIFY_NONE);
	assert_int_equal(port_of("ffff::", TABLE_TCP, 81), 1);
	assert_int_equal(fragment_of("0.0.0.0"), 0);
	assert_int_equal(fragment_of("::"), 1);
}

static void test_ipv4_bind_does_not_match_ipv6_address_with_same_bytes(void **state)
{
	(void)state;
	tables(2);
	handmade_bind(&set, 0, "10.0.0.1", TABLE_TCP, 80, 80);
	handmade_bind(&set, 1, "a00:1::/32", TABLE_TCP, 80, 80);
	build();
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 80), 0);
	assert_int_equal(port_of("a00:1::", TABLE_TCP, 80), 1);
}

/* Builds many small hash tables, so that prefixes of both families share slots. */
static void test_families_do_not_match_each_other_in_any_hash_slot(void **state)
{
	for (unsigned i = 0; i < 256; i++) {
		char v4[32], v6[32];

		snprintf(v4, sizeof(v4), "10.1.2.%u", i);
		snprintf(v6, sizeof(v6), "a01:%x::1", 0x200 + i); /* starts with the same bytes */
		tables(1);
		handmade_bind(&set, 0, v4, TABLE_TCP, 80, 80);
		handmade_bind(&set, 0, "fdb4::/32", TABLE_TCP, 80, 80);
		build();
		assert_int_equal(port_of(v4, TABLE_TCP, 80), 0);
		assert_int_equal(port_of(v6, TABLE_TCP, 80), CLASSIFY_NONE);
		clear(state);
	}
}

static void test_lowest_table_wins_for_any_prefix_length(void **state)
{
	(void)state;
	tables(3);
	handmade_bind(&set, 1, "10.0.0.0/8", TABLE_TCP, 80, 80); /* shorter, lower */
	handmade_bind(&set, 2, "10.0.0.1", TABLE_TCP, 80, 81);
	handmade_bind(&set, 0, "10.2.0.0/16", TABLE_TCP, 80, 80); /* longer, lower */
	build();
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 80), 1);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 81), 2);
	assert_int_equal(port_of("10.2.0.1", TABLE_TCP, 80), 0);
	assert_int_equal(port_of("10.3.0.1", TABLE_TCP, 80), 1);
}

static void test_lowest_table_wins_if_port_ranges_overlap(void **state)
{
	(void)state;
	tables(3);
	handmade_bind(&set, 2, "10.0.0.1", TABLE_TCP, 0, 65535);
	handmade_bind(&set, 1, "10.0.0.1", TABLE_TCP, 100, 200);
	handmade_bind(&set, 0, "10.0.0.1", TABLE_TCP, 150, 160);
	handmade_bind(&set, 1, "10.0.0.1", TABLE_TCP, 150, 300); /* one table's ranges may overlap too */
	build();
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 99), 2);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 100), 1);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 149), 1);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 150), 0);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 160), 0);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 161), 1);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 201), 1);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 300), 1);
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 301), 2);
}

static void test_shorter_prefix_matches_if_longer_one_lacks_the_port(void **state)
{
	(void)state;
	tables(2);
	handmade_bind(&set, 0, "10.0.0.1", TABLE_TCP, 80, 80);
	handmade_bind(&set, 1, "10.0.0.0/24", TABLE_TCP, 443, 443);
	handmade_bind(&set, 1, "10.0.0.0/30", TABLE_UDP, 443, 443);
	build();
	assert_int_equal(port_of("10.0.0.1", TABLE_TCP, 443), 1);
	assert_int_equal(port_of("10.0.0.1", TABLE_UDP, 443), 1);
	assert_int_equal(port_of("10.0.0.9", TABLE_UDP, 443), CLASSIFY_NONE);
}

static void test_ping_takes_the_lowest_table_of_its_address(void **state)
{
	(void)state;
	tables(3);
	handmade_bind(&set, 2, "10.0.0.1", TABLE_UDP, 53, 53);
	handmade_bind(&set, 1, "10.0.0.0/24", TABLE_TCP, 80, 80);
	build();
	assert_int_equal(address_of("10.0.0.1"), 1);
	assert_int_equal(address_of("10.0.0.2"), 1);
	assert_int_equal(address_of("10.0.1.1"), CLASSIFY_NONE);
}

static void test_fragment_is_ambiguous_if_two_tables_cover_its_address(void **state)
{
	(void)state;
	tables(3);
	handmade_bind(&set, 2, "10.0.0.1", TABLE_UDP, 53, 53);
	handmade_bind(&set, 2, "10.0.0.0/24", TABLE_TCP, 80, 80);
	handmade_bind(&set, 1, "10.0.0.4/30", TABLE_TCP, 443, 443);
	handmade_bind(&set, 0, "10.0.0.9", TABLE_TCP, 80, 80);
	handmade_bind(&set, 1, "10.0.0.9", TABLE_UDP, 80, 80);
	build();
	assert_int_equal(fragment_of("10.0.0.1"), 2); /* two binds, one table */
	assert_int_equal(fragment_of("10.0.0.2"), 2);
	assert_int_equal(fragment_of("10.0.0.5"), CLASSIFY_AMBIGUOUS); /* through the shorter prefix */
	assert_int_equal(fragment_of("10.0.0.9"), CLASSIFY_AMBIGUOUS); /* other protocol, same address */
	assert_int_equal(fragment_of("10.0.1.1"), CLASSIFY_NONE);
}

/*
 * The definition of a lookup: tries every bind in order. Also finds the first and the last bind that covers the
 * address.
 */
static int scan(const struct netaddr *addr, uint8_t protocol, uint16_t port, int *first, int *last)
{
	int found = CLASSIFY_NONE;

	*first = *last = CLASSIFY_NONE;
	for (uint32_t t = 0; t < set.count; t++) {
		for (uint32_t i = 0; i < set.tables[t].bind_count; i++) {
			const struct table_bind *bind = &set.tables[t].binds[i];
			int number = (int)(t * CLASSIFY_BINDS + CLASSIFY_NOT_QUIC + i);

			if (!netprefix_covers(&bind->prefix, addr))
				continue;
			*last = number;
			if (*first == CLASSIFY_NONE)
				*first = number;
			if (found == CLASSIFY_NONE && bind->protocol == protocol && bind->port_start <= port &&
				port <= bind->port_end)
				found = number;
		}
	}
	return found;
}

/* An address with few bits set, so that random prefixes are nested. */
static struct netaddr random_address(void)
{
	uint8_t bytes[16] = {10};

	for (unsigned i = 1; i < 16; i++)
		bytes[i] = random() % 4 ? 0 : (uint8_t)(1 << random() % 8);
	return netaddr_from_bytes(random() % 2 ? NETADDR_V4 : NETADDR_V6, bytes);
}

static void random_bind(uint32_t t)
{
	struct netaddr addr = random_address();
	unsigned bits = netaddr_bits(&addr);
	uint8_t length = (uint8_t)(random() % 4 ? bits - (unsigned)random() % 12 : (unsigned)random() % (bits + 1));
	uint16_t start = (uint16_t)(random() % 40), size = (uint16_t)(random() % 2 ? 0 : random() % 20);
	char text[NETPREFIX_TEXT_MAX];

	netprefix_mask(addr.bytes, netaddr_size(&addr), length);
	netprefix_format(&(struct netprefix){.addr = addr, .length = length}, text);
	if (random() % 10 == 0) /* up to the last port */
		handmade_bind(&set, t, text, TABLE_TCP, (uint16_t)(65535 - size), 65535);
	else
		handmade_bind(&set, t, text, random() % 2 ? TABLE_TCP : TABLE_UDP, start, (uint16_t)(start + size));
}

/* Half of the time an address that differs from a prefix in one bit. */
static struct netaddr random_destination(void)
{
	const struct table *table = &set.tables[(uint32_t)random() % set.count];
	struct netaddr addr;

	if (random() % 2 || table->bind_count == 0)
		return random_address();
	addr = table->binds[(uint32_t)random() % table->bind_count].prefix.addr;
	addr.bytes[(uint32_t)random() % netaddr_size(&addr)] ^= (uint8_t)(1 << random() % 8);
	return addr;
}

static void test_random_binds_agree_with_a_linear_scan(void **state)
{
	srandom(7);
	for (int round = 0; round < 60; round++) {
		tables(1 + (unsigned)random() % (round % 10 ? 6 : TABLE_MAX_TABLES));
		for (int binds = (int)(random() % 120); binds > 0; binds--)
			random_bind((uint32_t)random() % set.count);
		build();
		for (int i = 0; i < 2000; i++) {
			struct netaddr addr = random_destination();
			uint8_t protocol = random() % 2 ? TABLE_TCP : TABLE_UDP;
			uint16_t port = (uint16_t)(random() % 8 ? random() % 64 : 65520 + random() % 16);
			int first, last, found = scan(&addr, protocol, port, &first, &last);

			assert_int_equal(classify_port(classifier, addr.family, addr.bytes, protocol, port), found);
			assert_int_equal(classify_address(classifier, addr.family, addr.bytes), first);
			assert_int_equal(classify_fragment(classifier, addr.family, addr.bytes),
				classify_table(first) == classify_table(last) ? first : CLASSIFY_AMBIGUOUS);
		}
		clear(state);
	}
}

static void test_memory_depends_on_number_of_binds_not_on_addresses_and_ports(void **state)
{
	(void)state;
	tables(1);
	handmade_bind(&set, 0, "0.0.0.0/0", TABLE_TCP, 0, 65535);
	handmade_bind(&set, 0, "::/0", TABLE_UDP, 0, 65535);
	build();
	assert_in_range(classify_memory(classifier), 1, 4096);
	classify_free(classifier);
	for (unsigned i = 0; i < 4000; i++)
		handmade_bind(&set, 0, "10.0.0.0/8", TABLE_TCP, 0, (uint16_t)(i * 16));
	build();
	assert_in_range(classify_memory(classifier), 1, 4000 * 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_nothing_matches_without_binds, clear),
		cmocka_unit_test_teardown(test_address_protocol_and_port_must_all_match, clear),
		cmocka_unit_test_teardown(test_port_ranges_are_inclusive, clear),
		cmocka_unit_test_teardown(test_prefix_covers_its_first_and_last_address, clear),
		cmocka_unit_test_teardown(test_prefix_of_length_0_covers_only_its_family, clear),
		cmocka_unit_test_teardown(test_ipv4_bind_does_not_match_ipv6_address_with_same_bytes, clear),
		cmocka_unit_test_teardown(test_families_do_not_match_each_other_in_any_hash_slot, clear),
		cmocka_unit_test_teardown(test_lowest_table_wins_for_any_prefix_length, clear),
		cmocka_unit_test_teardown(test_lowest_table_wins_if_port_ranges_overlap, clear),
		cmocka_unit_test_teardown(test_shorter_prefix_matches_if_longer_one_lacks_the_port, clear),
		cmocka_unit_test_teardown(test_ping_takes_the_lowest_table_of_its_address, clear),
		cmocka_unit_test_teardown(test_fragment_is_ambiguous_if_two_tables_cover_its_address, clear),
		cmocka_unit_test_teardown(test_random_binds_agree_with_a_linear_scan, clear),
		cmocka_unit_test_teardown(test_memory_depends_on_number_of_binds_not_on_addresses_and_ports, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
