/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
	faults_error_at(&faults, 3, 14, "'%c' expected", ']');
	assert_int_equal(faults.errors, 1);
	assert_string_equal(faults_first_error(&faults), "table.json:3:14: ']' expected");
	faults_clear(&faults);
	faults.file = NULL;
	faults_error_at(&faults, 3, 14, "']' expected");
	assert_string_equal(faults_first_error(&faults), "3:14: ']' expected");
	faults_clear(&faults);
}

static void test_warnings_are_no_errors(void **state)
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
	faults_print(&faults, to);
	fclose(to);
	assert_string_equal(text, "error: f: b: second\nerror: f: d: fourth\n"
				  "warning: f: a: first\nwarning: f: c: third\n");
	free(text);
	faults_clear(&faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_names_file_place_and_value),
		cmocka_unit_test(test_error_at_names_line_and_column),
		cmocka_unit_test(test_warnings_are_no_errors),
		cmocka_unit_test(test_clear_keeps_the_file),
		cmocka_unit_test(test_print_lists_errors_before_warnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
