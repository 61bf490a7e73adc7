/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of VIPs: keys of the map, their order, and the tables that are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bifurcate/vips.h"

static struct bifurcate_prefix key_of(const char *text)
{
	struct netprefix prefix;

	assert_true(netprefix_parse(text, &prefix, NULL));
	return vips_key(&prefix);
}

/* Collects the prefixes, which end with NULL, as binds of one table. */
static int collect(const char *const *texts, struct vips *vips, struct faults *faults)
{
	struct table_bind binds[8] = {0};
	struct table table = {.binds = binds};
	struct table_set set = {.count = 1, .tables = &table};

	for (; texts[table.bind_count]; table.bind_count++)
		assert_true(netprefix_parse(texts[table.bind_count], &binds[table.bind_count].prefix, NULL));
	return vips_from_tables(&set, vips, faults);
}

static void test_ipv4_is_mapped(void **state)
{
	static const uint8_t address[16] = {[10] = 0xff, 0xff, 203, 0, 113, 10};
	struct bifurcate_prefix key = key_of("203.0.113.10");

	(void)state;
	assert_int_equal(key.bits, 128);
	assert_memory_equal(key.address, address, sizeof(address));
	assert_int_equal(key_of("203.0.113.0/24").bits, 120);
	assert_int_equal(key_of("2001:db8::/32").bits, 32);
}

static void test_a_key_becomes_the_same_text_again(void **state)
{
	static const char *const texts[] = {
		"203.0.113.10", "10.0.0.0/8", "128.0.0.0/1", "2001:db8::10", "2001:db8::/33", "::/97"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct bifurcate_prefix key = key_of(texts[i]);
		struct netprefix prefix = vips_prefix(&key);
		char text[NETPREFIX_TEXT_MAX];

		assert_string_equal(netprefix_format(&prefix, text), texts[i]);
	}
}

static void test_list_is_sorted_and_has_each_prefix_once(void **state)
{
	static const char *const texts[] = {
		"203.0.113.11", "2001:db8::1", "203.0.113.10", "203.0.113.11", "203.0.113.10/31", NULL};
	static const char *const sorted[] = {"203.0.113.10/31", "203.0.113.10", "203.0.113.11", "2001:db8::1"};
	struct faults faults = {0};
	struct vips vips;

	(void)state;
	assert_int_equal(collect(texts, &vips, &faults), 0);
	assert_int_equal(vips.count, 4);
	for (uint32_t i = 0; i < vips.count; i++) {
		struct bifurcate_prefix key = key_of(sorted[i]);

		assert_int_equal(vips_compare(&vips.items[i], &key), 0);
	}
	vips_free(&vips);
}

static void test_prefixes_that_take_everything_are_refused(void **state)
{
	static const char *const refused[] = {"0.0.0.0/0", "::/0", "::/1", "::/80", "::ffff:0.0.0.0/96"};
	static const char *const taken[] = {"0.0.0.0/1", "128.0.0.0/1", "8000::/1", "2000::/3", "::/97"};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		const char *const texts[] = {"203.0.113.10", refused[i], NULL}, *const other[] = {taken[i], NULL};
		struct faults faults = {0};
		struct vips vips;

		assert_int_equal(collect(texts, &vips, &faults), -EINVAL);
		assert_non_null(strstr(faults_first_error(&faults), "would take all traffic from the kernel"));
		assert_int_equal(vips.count, 0);
		faults_clear(&faults);
		assert_int_equal(collect(other, &vips, &faults), 0);
		assert_int_equal(vips.count, 1);
		vips_free(&vips);
	}
}

static void test_table_without_binds_is_refused(void **state)
{
	static const char *const none[] = {NULL};
	struct faults faults = {0};
	struct vips vips;

	(void)state;
	assert_int_equal(collect(none, &vips, &faults), -EINVAL);
	assert_non_null(strstr(faults_first_error(&faults), "no bind"));
	faults_clear(&faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4_is_mapped),
		cmocka_unit_test(test_a_key_becomes_the_same_text_again),
		cmocka_unit_test(test_list_is_sorted_and_has_each_prefix_once),
		cmocka_unit_test(test_prefixes_that_take_everything_are_refused),
		cmocka_unit_test(test_table_without_binds_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
