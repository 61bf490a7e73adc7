/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/config/driver_conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_places_are_replaced_everywhere(void **state)
{
	static const struct {
		const char *prefix, *text, *plain, *regex;
	} cases[] = {
		{"203.0.113.10", "{prefix}", "203.0.113.10/32", "203\\.0\\.113\\.10/32"},
		{"203.0.113.10", "a {address}/{length} b", "a 203.0.113.10/32 b", "a 203\\.0\\.113\\.10/32 b"},
		{"203.0.113.10", "glb_{name}", "glb_203_0_113_10", "glb_203_0_113_10"},
		{"203.0.113.0/24", "{name}{name}", "203_0_113_0_24203_0_113_0_24", "203_0_113_0_24203_0_113_0_24"},
		{"2001:db8:f::10", "{family} {name} {prefix}", "ipv6 2001_db8_f__10 2001:db8:f::10/128",
			"ipv6 2001_db8_f__10 2001:db8:f::10/128"},
		{"203.0.113.10", "{family}.*{", "ipv4.*{", "ipv4.*{"},
		{"203.0.113.10", "", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct netprefix prefix;
		char *text;

		assert_true(netprefix_parse(cases[i].prefix, &prefix, NULL));
		text = driver_conf_expand(cases[i].text, &prefix, DRIVER_PLAIN);
		assert_string_equal(text, cases[i].plain);
		free(text);
		text = driver_conf_expand(cases[i].text, &prefix, DRIVER_REGEX);
		assert_string_equal(text, cases[i].regex);
		free(text);
	}
}

static void test_faulty_files_are_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"announce = [\"/bin/true\"];", "withdraw: missing; write "},
		{"announce = [\"true\"]; withdraw = [\"/bin/true\"];", "'true' is not a full path, which begins with '/'"},
		{"announce = [\"/bin/true\", \"{vip}\"]; withdraw = [\"/bin/true\"];",
			"'{vip}' is not known; {prefix} stands for"},
		{"announce = [\"true\", \"-x\"]; withdraw = (\"/bin/true\", 1, \"-y\");", "'true' is not a full path"},
		{"announce = \"/bin/true {prefix}\"; withdraw = [\"/bin/true\"];",
			"announce: is not a list of 1 to 64 strings"},
		{"announce = []; withdraw = [\"/bin/true\"];", "announce: is not a list of 1 to 64 strings"},
		{"announce = [\"/bin/true\"]; withdraw = [\"/bin/true\"]; check = [\"/bin/true\"];", "announced: missing"},
		{"announce = [\"/bin/true\"]; withdraw = [\"/bin/true\"]; announced = \"x\";", "check: missing"},
		{"announce = [\"/bin/true\"]; withdraw = [\"/bin/true\"]; check = [\"/bin/true\", \"{name}\"]; announced = \"x\";",
			"'{name}' is not replaced in this command"},
		{"announce = [\"/bin/true\"]; withdraw = [\"/bin/true\"]; check = [\"/bin/true\"]; announced = \"(\";",
			"is not an extended regular expression: "},
		{"pipe = \"/p\"; announce_line = \"a\";", "withdraw_line: missing"},
		{"pipe = \"/p\"; announce_line = \"a\\nb\"; withdraw_line = \"b\";", "has a line break"},
		{"pipe = \"/p\"; announce_line = \"a\"; withdraw_line = \"b\"; announce = [\"/bin/true\"];",
			"announce: is not possible together with pipe"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[] = "/tmp/glb-driver-XXXXXX";
		int fd = mkstemp(path);
		struct faults faults = {.file = path};
		struct driver_conf conf;

		assert_int_equal(write(fd, cases[i].text, strlen(cases[i].text)), strlen(cases[i].text));
		close(fd);
		if (driver_conf_read(path, &conf, &faults) == 0 || !strstr(faults_first_error(&faults), cases[i].error))
			fail_msg("%s: %s", cases[i].text, faults_first_error(&faults));
		driver_conf_free(&conf);
		faults_clear(&faults);
		unlink(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_are_replaced_everywhere),
		cmocka_unit_test(test_faulty_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
