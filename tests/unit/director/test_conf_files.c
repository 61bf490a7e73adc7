/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the configuration: included ones, and those that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "director/conf/conf.h"

#define BASE "outbound_gateway_mac = \"02:00:5e:10:00:01\"; outbound_src_ip = \"192.0.2.1\";\n"

/* libconfig 1.5 leaks the last string of a file with a syntax error. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:strbuf_append";
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char file_path[64];
	FILE *file;

	snprintf(file_path, sizeof(file_path), "%s/%s", folder, name);
	file = fopen(file_path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_included_files_are_found_in_the_same_folder_and_named(void **state)
{
	char folder[] = "/tmp/test_conf.XXXXXX", main_path[64], included[64];
	struct faults faults = {.file = "conf"};
	struct conf conf;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(main_path, sizeof(main_path), "%s/director.conf", folder);
	snprintf(included, sizeof(included), "%s/hash.conf", folder);
	write_file(folder, "director.conf", BASE "@include \"hash.conf\"\nidle = 1;\n");
	write_file(folder, "hash.conf", "\nhash_fields = { src_addr = 1; };\n");
	assert_int_equal(conf_read(main_path, &conf, &faults), -EINVAL);
	assert_int_equal(faults.errors, 2);
	assert_non_null(strstr(faults.items[0].text, "hash.conf:2: hash_fields.src_addr: '1' (a number) is neither"));
	assert_string_equal(faults.items[1].text, "conf:3: idle: '1' (a number) is not \"poll\" or \"sleep\"");
	faults_clear(&faults);
	write_file(folder, "hash.conf", "\nhash_fields = { src_addr = on; };\n");
	assert_int_equal(conf_read(main_path, &conf, &faults), -EINVAL);
	assert_int_equal(faults.errors, 1);
	assert_non_null(strstr(faults.items[0].text,
		"hash.conf:2: hash_fields.src_addr: 'on' is not a number, true, false, or text in double quotes; write true"));
	faults_clear(&faults);
	unlink(included);
	unlink(main_path);
	rmdir(folder);
}

static void test_integers_of_included_files_do_not_wrap(void **state)
{
	static const struct {
		const char *one, *two, *error;
	} cases[] = {
		{"num_worker_queues = 4294967300;", "", "/one.conf:1: '4294967300' does not fit an integer"},
		{"# 1\nnum_worker_queues =\n@include \"two.conf\"\n;", "4294967300",
			"/two.conf:1: '4294967300' does not fit an integer"},
		{"@include \"two.conf\"\nidle = \"poll\";", "\nlcores = { lcore-1 = { work_source = 0x100000001; }; };",
			"/two.conf:2: '0x100000001' does not fit an integer"},
		{"num_worker_queues = 0x10000000000000004L;", "",
			"/one.conf:1: '0x10000000000000004L' does not fit an integer"},
		{"num_worker_queues = -4294967300", "", "/one.conf:1: '-4294967300' does not fit an integer"},
		{"@include \"none.conf\"", "", "/none.conf: cannot be opened: No such file or directory"},
		{"@include \"two.conf\"", "@include \"two.conf\"\n", "include file nesting too deep"},
		{"@include \".\"", "", "/.: is a directory; expected a regular file"},
		{"/* @include \"none.conf\" */ num_worker_queues = 1024L; # 4294967300\n", "", NULL},
	};
	char folder[] = "/tmp/test_conf.XXXXXX", main_path[64];
	struct conf conf;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(main_path, sizeof(main_path), "%s/main", folder);
	write_file(folder, "main", BASE "@include \"one.conf\"\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct faults faults = {.file = "conf"};

		write_file(folder, "one.conf", cases[i].one);
		write_file(folder, "two.conf", cases[i].two);
		assert_int_equal(conf_read(main_path, &conf, &faults), cases[i].error ? -EINVAL : 0);
		assert_int_equal(faults.errors, cases[i].error ? 1 : 0);
		if (cases[i].error && !strstr(faults.items[0].text, cases[i].error))
			fail_msg("'%s' is not in '%s'", cases[i].error, faults.items[0].text);
		faults_clear(&faults);
	}
	for (const char *const *name = (const char *const[]){"main", "one.conf", "two.conf", NULL}; *name; name++) {
		snprintf(main_path, sizeof(main_path), "%s/%s", folder, *name);
		unlink(main_path);
	}
	rmdir(folder);
}

static void test_unreadable_files_are_errors(void **state)
{
	char path[] = "/tmp/test_conf.XXXXXX";
	struct faults faults = {.file = "x"};
	struct conf conf;

	(void)state;
	assert_int_equal(conf_read("/nonexistent/director.conf", &conf, &faults), -ENOENT);
	assert_string_equal(faults_first_error(&faults), "x: cannot be opened: No such file or directory");
	faults_clear(&faults);
	assert_int_equal(conf_read("/tmp", &conf, &faults), -EISDIR);
	assert_string_equal(faults_first_error(&faults), "x: is a directory; expected a regular file");
	faults_clear(&faults);
	assert_int_equal(conf_read("/dev/null", &conf, &faults), -EINVAL);
	assert_string_equal(faults_first_error(&faults), "x: is a device; expected a regular file");
	faults_clear(&faults);
	assert_int_equal(close(mkstemp(path)), 0);
	assert_int_equal(truncate(path, 10), 0); /* ten zero bytes */
	assert_int_equal(conf_read(path, &conf, &faults), -EILSEQ);
	assert_string_equal(
		faults_first_error(&faults), "x: cannot be read: it has a NUL byte, so it is not a text file");
	faults_clear(&faults);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_included_files_are_found_in_the_same_folder_and_named),
		cmocka_unit_test(test_integers_of_included_files_do_not_wrap),
		cmocka_unit_test(test_unreadable_files_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
