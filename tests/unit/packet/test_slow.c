/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests what people are told about tables whose packets are slower. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "packet/slow.h"
#include "tests/unit/handmade.h"

static struct faults faults;

static void warn(struct routes *routes)
{
	faults_clear(&faults);
	slow_warn(&routes->set, routes->portmap, &faults);
	assert_int_equal(faults.errors, 0);
}

static void assert_warning(size_t index, const char *part)
{
	assert_true(index < faults.count);
	assert_true(faults.items[index].warning);
	if (!strstr(faults.items[index].text, part))
		fail_msg("'%s' is not in '%s'", part, faults.items[index].text);
}

/* A table with binds of `count` prefix lengths, the longest one an address. */
static struct routes *with_lengths(const char *address, unsigned longest, unsigned count)
{
	struct table_set set = {0};

	handmade_table(&set, 4, 2);
	for (unsigned i = 0; i < count; i++) {
		struct table_bind *bind;
		char prefix[64];

		snprintf(prefix, sizeof(prefix), "%s/%u", address, longest);
		handmade_bind(&set, 0, prefix, TABLE_TCP, (uint16_t)(80 + i), (uint16_t)(80 + i));
		bind = &set.tables[0].binds[i];
		bind->prefix.length = (uint8_t)(longest - i);
		netprefix_mask(bind->prefix.addr.bytes, netaddr_size(&bind->prefix.addr), bind->prefix.length);
	}
	return handmade_routes(&set);
}

static void test_more_than_eight_prefix_lengths_of_a_family_are_named(void **state)
{
	static const char *const addresses[] = {"10.1.2.3", "fd00::7"};
	static const char *const texts[] = {"tables: binds of IPv4 have 9 prefix lengths (32 31 30 29 28 27 26 25 24)",
		"tables: binds of IPv6 have 9 prefix lengths (128 127 126 125 124 123 122 121 120)"};
	char text[SLOW_LENGTHS_TEXT];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		for (unsigned count = 8; count <= 10; count++) {
			uint8_t family = i ? NETADDR_V6 : NETADDR_V4;
			struct routes *routes = with_lengths(addresses[i], i ? 128 : 32, count);

			warn(routes);
			assert_int_equal(faults.count, count > 8);
			if (count == 9)
				assert_warning(0, texts[i]);
			assert_int_equal(slow_lengths(routes->portmap, family, text), count);
			assert_int_equal(slow_lengths(routes->portmap, i ? NETADDR_V4 : NETADDR_V6, text), 0);
			assert_string_equal(text, "");
			routes_free(routes);
		}
}

static void test_all_prefix_lengths_of_ipv6_have_room_in_the_text(void **state)
{
	struct routes *routes = with_lengths("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 128, 129);
	char text[SLOW_LENGTHS_TEXT];

	(void)state;
	assert_int_equal(slow_lengths(routes->portmap, NETADDR_V6, text), 129);
	assert_memory_equal(text, "128 127 126 ", 12);
	assert_string_equal(text + strlen(text) - 8, " 3 2 1 0");
	routes_free(routes);
}

static void test_tables_of_misfits_are_named(void **state)
{
	const struct portmap_limits limits = {.maps = 4, .pages = 100};
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	for (uint32_t t = 0; t < 14; t++) {
		char address[32];

		handmade_table(&set, 4, 2);
		snprintf(address, sizeof(address), "10.0.0.%u", t);
		handmade_bind(&set, t, address, TABLE_TCP, 80, 80);
	}
	set.tables[2].name = strdup("web");
	routes = handmade_routes(&set);
	warn(routes);
	assert_int_equal(faults.count, 0);
	portmap_free(routes->portmap);
	routes->portmap = portmap_build(routes->classifier, &limits);
	warn(routes);
	assert_int_equal(faults.count, 1);
	assert_warning(0,
		"tables: 12 prefixes in binds of web, #3, #4, #5, #6, #7, #8, #9 and others found no room in the port "
		"maps (2 of 65534 maps, 2 of 65534 pages)");
	routes_free(routes);
}

static void test_rows_that_the_fast_path_cannot_take_are_named(void **state)
{
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	for (uint8_t hops = 1; hops <= 4; hops++)
		handmade_table(&set, 5, hops);
	handmade_table(&set, 5, 2);
	handmade_table(&set, 5, 3);
	set.tables[4].backends[1] = set.tables[4].backends[0];
	set.tables[5].backends[1] = set.tables[5].backends[0];
	routes = handmade_routes(&set);
	warn(routes);
	assert_int_equal(faults.count, 1);
	assert_warning(0, "tables[5]: rows of 3 hops have an address twice");
	faults_clear(&faults);
	slow_warn_alt(&routes->set, &faults);
	assert_int_equal(faults.count, 3);
	assert_warning(0, "tables[2]: rows have 3 hops, and alt_hash_fields is set");
	assert_warning(1, "tables[3]: rows have 4 hops, and alt_hash_fields is set");
	assert_warning(2, "tables[5]: rows have 3 hops, and alt_hash_fields is set");
	routes_free(routes);
}

/* As in a JSON table that was only read. */
static void test_tables_without_rows_are_judged_by_the_rows_that_they_will_have(void **state)
{
	struct table_set set = {0};
	struct routes *routes;

	(void)state;
	for (uint32_t t = 0; t < 4; t++)
		handmade_table(&set, 4, 4);
	set.tables[1].hops = 2;
	set.tables[2].backends[1].state = set.tables[2].backends[3].state = TABLE_INACTIVE;
	set.tables[3].backends[1].state = TABLE_INACTIVE;
	routes = handmade_routes(&set);
	for (uint32_t t = 0; t < 4; t++) {
		free(routes->set.tables[t].rows);
		routes->set.tables[t].rows = NULL;
	}
	warn(routes);
	assert_int_equal(faults.count, 0);
	slow_warn_alt(&routes->set, &faults);
	assert_int_equal(faults.count, 2);
	assert_warning(0, "tables[0]: rows have 4 hops");
	assert_warning(1, "tables[3]: rows have 3 hops");
	routes_free(routes);
}

static int clear(void **state)
{
	(void)state;
	faults_clear(&faults);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_more_than_eight_prefix_lengths_of_a_family_are_named, clear),
		cmocka_unit_test_teardown(test_all_prefix_lengths_of_ipv6_have_room_in_the_text, clear),
		cmocka_unit_test_teardown(test_tables_of_misfits_are_named, clear),
		cmocka_unit_test_teardown(test_rows_that_the_fast_path_cannot_take_are_named, clear),
		cmocka_unit_test_teardown(test_tables_without_rows_are_judged_by_the_rows_that_they_will_have, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
