/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents that are large, deep or full of faults, and files that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "table/file/table_load.h"
#include "tests/unit/table/table_json_helpers.h"

/* Writes a document of `tables` tables, each with `binds` binds and `backends` backends. broken: with bad addresses. */
static char *large_document(unsigned tables, unsigned binds, unsigned backends, bool broken)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	fprintf(to, "{\"tables\":[");
	for (unsigned t = 0; t < tables; t++) {
		fprintf(to, "%s{\"name\":\"%u\",\"hash_key\":\"%032d\",\"seed\":\"%032d\",\"binds\":[", t ? "," : "", t,
			1, 1);
		for (unsigned i = 0; i < binds; i++)
			fprintf(to, "%s{\"ip\":\"10.%u.%u.1/24\",\"proto\":\"tcp\",\"port\":%u}", i ? "," : "", i / 256,
				i % 256, t);
		fprintf(to, "],\"backends\":[");
		for (unsigned i = 0; i < backends; i++)
			fprintf(to, "%s{\"ip\":\"10.%u.%u.%s\",\"state\":\"active\"}", i ? "," : "", i / 256, i % 256,
				broken ? "x" : "1");
		fprintf(to, "]}");
	}
	fprintf(to, "]}");
	fclose(to);
	return text;
}

static void test_the_limits_are_allowed_and_one_more_is_an_error(void **state)
{
	static const struct {
		unsigned tables, binds, backends;
		const char *error;
	} cases[] = {
		{1024, 1, 1, NULL},
		{1025, 1, 1, "t.json: tables: has 1025 elements; the maximum is 1024"},
		{1, 4096, 1, NULL},
		{1, 4097, 1, "t.json: tables[0].binds: has 4097 elements; the maximum is 4096"},
		{1, 1, 4096, NULL},
		{1, 1, 4097, "t.json: tables[0].backends: has 4097 elements; the maximum is 4096"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *text = large_document(cases[i].tables, cases[i].binds, cases[i].backends, false);
		struct faults faults;
		struct table_set set;

		assert_int_equal(parse(text, &set, &faults), cases[i].error ? -EINVAL : 0);
		if (cases[i].error)
			assert_placed(&faults, false, cases[i].error);
		assert_int_equal(faults.errors, cases[i].error != NULL);
		table_set_free(&set);
		faults_clear(&faults);
		free(text);
	}
}

static void test_each_table_has_a_limited_number_of_warnings_of_one_kind(void **state)
{
	char *text = large_document(2, 500, 1, false);
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse(text, &set, &faults), 0);
	assert_placed(&faults, true,
		"t.json: tables[1].backends[0].ip: '10.0.0.1' is inside a prefix of VIPs (tables[0].binds[0]): packets to this proxy come back to the directors unless a more specific route leads to it");
	assert_int_equal(faults.count, 2 * (11 + 1));
	assert_placed(&faults, true, "t.json: tables[1].binds: 490 more binds have bits set beyond the prefix length");
	table_set_free(&set);
	faults_clear(&faults);
	free(text);
}

static void test_a_document_has_a_limited_number_of_errors(void **state)
{
	char *text = large_document(5, 0, 4096, true);
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse(text, &set, &faults), -EINVAL);
	assert_int_equal(faults.errors, 10001);
	assert_fault(&faults, false, "t.json: more than 10000 faults: the rest is not listed");
	faults_clear(&faults);
	free(text);
}

static void test_deep_nesting_is_refused(void **state)
{
	char *text = malloc(1000001);
	struct faults faults;
	struct table_set set;

	(void)state;
	memset(text, '[', 1000000);
	text[1000000] = '\0';
	assert_int_equal(parse(text, &set, &faults), -EINVAL);
	assert_string_equal(faults_first_error(&faults), "t.json:1:2049: not JSON: maximum parsing depth reached");
	faults_clear(&faults);
	free(text);
}

static char folder[] = "/tmp/test_table_json.XXXXXX";

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

static void assert_unreadable(const char *path, int error, const char *text)
{
	struct faults faults = {.file = path};
	struct table_set set;

	assert_int_equal(table_load_json(path, &set, &faults), error);
	assert_string_equal(faults_first_error(&faults), text);
	assert_int_equal(faults.count, 1);
	faults_clear(&faults);
}

static void test_a_file_that_cannot_be_read_is_named(void **state)
{
	FILE *big;

	(void)state;
	assert_unreadable("none", -ENOENT, "none: cannot be opened: No such file or directory");
	assert_unreadable(".", -EISDIR, ".: is a directory; expected a regular file");
	assert_unreadable("/dev/null", -EINVAL, "/dev/null: is a device; expected a regular file");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_unreadable("fifo", -EINVAL, "fifo: is a FIFO; expected a regular file");
	unlink("fifo");
	big = fopen("big", "w");
	assert_int_equal(ftruncate(fileno(big), 128 * 1024 * 1024 + 1), 0);
	fclose(big);
	assert_unreadable("big", -EFBIG, "big: has 134217729 bytes; a table has at most 134217728");
	unlink("big");
}

static void test_a_file_is_read(void **state)
{
	struct faults faults = {.file = "t.json"};
	struct table_set set;
	FILE *to = fopen("t.json", "w");

	(void)state;
	fputs("{\"tables\": []}", to);
	fclose(to);
	assert_int_equal(table_load_json("t.json", &set, &faults), 0);
	assert_int_equal(faults.count, 1);
	table_set_free(&set);
	faults_clear(&faults);
	unlink("t.json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_limits_are_allowed_and_one_more_is_an_error),
		cmocka_unit_test(test_each_table_has_a_limited_number_of_warnings_of_one_kind),
		cmocka_unit_test(test_a_document_has_a_limited_number_of_errors),
		cmocka_unit_test(test_deep_nesting_is_refused),
		cmocka_unit_test(test_a_file_that_cannot_be_read_is_named),
		cmocka_unit_test(test_a_file_is_read),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
