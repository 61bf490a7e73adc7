/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads tables from binary files and from JSON files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/file/file.h"
#include "table/file/table_file.h"
#include "table/file/table_load.h"
#include "tests/unit/table_helpers.h"

static char folder[] = "/tmp/test_table_load.XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void replace(const char *path, const char *text)
{
	struct faults faults = {.file = path};

	assert_int_equal(file_replace(path, NULL, text, strlen(text), &faults), 0);
	assert_no_fault(&faults);
}

static void test_binary_and_json_files_are_loaded(void **state)
{
	static const char json[] = "{\"tables\": [{\"name\": \"a\", \"hash_key\": "
				   "\"00112233445566778899aabbccddeeff\","
				   " \"seed\": \"00112233445566778899aabbccddeeff\", \"hops\": 3, \"binds\":"
				   " [{\"ip\": \"10.0.0.1\", \"proto\": \"tcp\", \"port\": 80}], \"backends\":"
				   " [{\"ip\": \"1.1.1.1\", \"state\": \"active\"}, {\"ip\": \"1.1.1.2\", \"state\":"
				   " \"filling\"}]}]}";
	struct faults faults = {.file = "t"};
	struct table_set set;
	uint64_t digest = 0;

	(void)state;
	replace("t", json);
	for (uint32_t expected = 0; expected <= 3; expected += expected ? 1 : 2) {
		uint32_t version = 99;
		uint8_t *bytes;
		size_t size;

		assert_int_equal(table_load("t", &set, &version, &faults), 0);
		assert_no_fault(&faults);
		assert_int_equal(version, expected);
		assert_int_equal(set.tables[0].row_hops, 2);
		if (expected == 0)
			digest = table_set_digest(&set);
		assert_int_equal(table_set_digest(&set), digest);
		assert_int_equal(table_file_encode(&set, expected == 0 ? 2 : 3, &bytes, &size, &faults), 0);
		assert_int_equal(file_replace("t", NULL, bytes, size, &faults), 0);
		free(bytes);
		table_set_free(&set);
	}
	unlink("t");
}

static void test_a_bad_file_is_named_with_its_fault(void **state)
{
	static const struct {
		const char *text;
		const char *error;
	} cases[] = {
		{"", "t: is empty"},
		{"GLBD", "t: byte 0: not a binary forwarding table: it does not begin with \"GLBD\" and a version"},
		{"GLBX", "t:1:4: not JSON: '[' or '{' expected"},
		{"{\"tables\": 1}", "t:1:12: tables: '1' (a number) is not an array"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct faults faults = {.file = "t"};
		struct table_set set;

		replace("t", cases[i].text);
		assert_int_equal(table_load("t", &set, NULL, &faults), -EINVAL);
		assert_fault(&faults, false, cases[i].error);
		assert_null(set.tables);
		faults_clear(&faults);
	}
	unlink("t");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binary_and_json_files_are_loaded),
		cmocka_unit_test(test_a_bad_file_is_named_with_its_fault),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
