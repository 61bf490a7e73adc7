/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/faults.h"

static void test_error_names_file_place_and_value(void **state)
{
	struct faults faults = {.file = "table.json"};

	(void)state;
	faults_error(&faults, "tables[0].name", "'%s' is taken", "web");
	assert_int_equal(faults.errors, 1);
	assert_string_equal(faults_first_error(&faults), "table.json: tables[0].name: 'web' is taken");
	faults_clear(&faults);
}

static void test_error_at_names_line_and_column(void **state)
{
	struct faults faults = {.file = "table.json"};

	(void)state;
	faults_error_at(
		&faults, &(struct faults_place){.line = 3, .has_column = true, .column = 14}, "'%c' expected", ']');
	assert_int_equal(faults.errors, 1);
	assert_string_equal(faults_first_error(&faults), "table.json:3:14: ']' expected");
	faults_clear(&faults);
	faults.file = NULL;
	faults_error_at(&faults, &(struct faults_place){.line = 3, .has_column = true, .column = 14}, "']' expected");
	assert_string_equal(faults_first_error(&faults), "3:14: ']' expected");
	faults_clear(&faults);
}

static void test_a_place_without_line_or_column_leaves_them_out(void **state)
{
	struct faults faults = {.file = "glb.conf"};
	const struct faults_place places[] = {
		{.line = 7},
		{.line = 7, .where = "lcores"},
		{.file = "included.conf", .line = 7, .where = "lcores"},
		{.line = 1, .has_column = true},
		{0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++)
		faults_error_at(&faults, &places[i], "broken");
	assert_int_equal(faults.errors, 5);
	assert_string_equal(faults.items[0].text, "glb.conf:7: broken");
	assert_string_equal(faults.items[1].text, "glb.conf:7: lcores: broken");
	assert_string_equal(faults.items[2].text, "included.conf:7: lcores: broken");
	assert_string_equal(faults.items[3].text, "glb.conf:1:0: broken");
	assert_string_equal(faults.items[4].text, "glb.conf: broken");
	faults_clear(&faults);
}

static void test_warnings_are_not_counted_as_errors(void **state)
{
	struct faults faults = {0};

	(void)state;
	faults_warn(&faults, NULL, "overlap");
	assert_int_equal(faults.errors, 0);
	assert_int_equal(faults.count, 1);
	assert_string_equal(faults_first_error(&faults), "");
	faults_error(&faults, "", "broken");
	assert_string_equal(faults_first_error(&faults), "broken");
	faults_clear(&faults);
	assert_int_equal(faults.count, 0);
	assert_int_equal(faults.errors, 0);
}

static void test_clear_keeps_the_file(void **state)
{
	struct faults faults = {.file = "a"};

	(void)state;
	faults_error(&faults, NULL, "one");
	faults_clear(&faults);
	faults_error(&faults, NULL, "two");
	assert_int_equal(faults.count, 1);
	assert_string_equal(faults_first_error(&faults), "a: two");
	faults_clear(&faults);
}

static void print(void *to, bool warning, const char *text)
{
	fprintf(to, "%s: %s\n", warning ? "warning" : "error", text);
}

static void test_print_lists_errors_before_warnings(void **state)
{
	struct faults faults = {.file = "f"};
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	faults_warn(&faults, "a", "first");
	faults_error(&faults, "b", "second");
	faults_warn(&faults, "c", "third");
	faults_error(&faults, "d", "fourth");
	faults_report(&faults, FAULTS_ALL, print, to);
	fclose(to);
	assert_string_equal(text, "error: f: b: second\nerror: f: d: fourth\n"
				  "warning: f: a: first\nwarning: f: c: third\n");
	free(text);
	faults_clear(&faults);
}

static void count(void *context, bool warning, const char *text)
{
	unsigned *counts = context;

	(void)text;
	counts[warning]++;
}

static void test_a_report_has_the_requested_kinds(void **state)
{
	struct faults faults = {0};
	unsigned counts[2] = {0};

	(void)state;
	faults_warn(&faults, NULL, "one");
	faults_error(&faults, NULL, "two");
	faults_report(&faults, FAULTS_ERRORS, count, counts);
	assert_int_equal(counts[false], 1);
	assert_int_equal(counts[true], 0);
	faults_report(&faults, FAULTS_WARNINGS, count, counts);
	assert_int_equal(counts[false], 1);
	assert_int_equal(counts[true], 1);
	faults_clear(&faults);
}

static void test_faults_lost_for_lack_of_memory_are_an_error(void **state)
{
	struct faults faults = {.out_of_memory = true};
	unsigned counts[2] = {0};

	(void)state;
	faults_report(&faults, FAULTS_WARNINGS, count, counts);
	assert_int_equal(counts[false], 0);
	faults_report(&faults, FAULTS_ALL, count, counts);
	assert_int_equal(counts[false], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_names_file_place_and_value),
		cmocka_unit_test(test_error_at_names_line_and_column),
		cmocka_unit_test(test_a_place_without_line_or_column_leaves_them_out),
		cmocka_unit_test(test_warnings_are_not_counted_as_errors),
		cmocka_unit_test(test_clear_keeps_the_file),
		cmocka_unit_test(test_print_lists_errors_before_warnings),
		cmocka_unit_test(test_a_report_has_the_requested_kinds),
		cmocka_unit_test(test_faults_lost_for_lack_of_memory_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
