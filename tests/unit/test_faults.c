/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_names_file_place_and_value),
		cmocka_unit_test(test_warnings_are_no_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
