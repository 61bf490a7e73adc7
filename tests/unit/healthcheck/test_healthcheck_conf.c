/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "healthcheck/config/conf.h"

#define FILES "forwarding_table = { src = 'a.json'; dst = 'b.json'; };\n"

static struct conf conf;

/*
 * Reads `text`, in which ' stands for ". Returns the result of conf_read_healthcheck(), and its first error in `error`.
 */
static int read_text(const char *text, char error[512])
{
	char path[] = "/tmp/test_healthcheck_conf.XXXXXX", *copy = strdup(text);
	struct faults faults = {.file = "h.conf"};
	int result, fd = mkstemp(path);

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	assert_true(fd >= 0);
	assert_int_equal(write(fd, copy, strlen(copy)), (ssize_t)strlen(copy));
	close(fd);
	result = conf_read_healthcheck(path, &conf, &faults);
	snprintf(error, 512, "%s", faults_first_error(&faults));
	faults_clear(&faults);
	unlink(path);
	free(copy);
	return result;
}

static void test_defaults(void **state)
{
	char error[512];

	(void)state;
	assert_int_equal(read_text(FILES, error), 0);
	assert_string_equal(conf.src, "a.json");
	assert_string_equal(conf.state_file, "b.json.state");
	assert_int_equal(conf.timing.interval_ms, 2000);
	assert_int_equal(conf.timing.timeout_ms, 1000);
	assert_int_equal(conf.timing.trigger_healthy, 3);
	assert_int_equal(conf.timing.trigger_unhealthy, 3);
	assert_int_equal(conf.hold_ms, 10000);
	assert_int_equal(conf.panic_threshold, 50);
	assert_int_equal(conf.max_shrink, 50);
	assert_true(conf.watch && conf.http.verify);
	assert_true(status_set_has(&conf.http.status, 200));
	assert_null(conf_source(&conf, NETADDR_V4));
	conf_free(&conf);
}

static void test_trigger_is_the_default_of_both_directions(void **state)
{
	char error[512];

	(void)state;
	assert_int_equal(read_text("trigger_healthy = 9; trigger = 5;" FILES, error), 0);
	assert_int_equal(conf.timing.trigger_healthy, 9);
	assert_int_equal(conf.timing.trigger_unhealthy, 5);
	conf_free(&conf);
}

static void test_http_settings_of_a_table_start_as_a_copy_of_the_files(void **state)
{
	char error[512];

	(void)state;
	assert_int_equal(read_text(FILES "tables = ( { name = 'web'; http = { tls = true; }; } );"
					 "http = { host = 'www.example.com'; status = '204'; };",
				 error),
		0);
	assert_false(conf_http_of(&conf, "git")->tls);
	assert_true(conf_http_of(&conf, "web")->tls);
	assert_string_equal(conf_http_of(&conf, "web")->host, "www.example.com");
	assert_true(status_set_has(&conf_http_of(&conf, "web")->status, 204));
	conf_free(&conf);
}

static void test_faults_name_line_key_and_value(void **state)
{
	static const char *const examples[][2] = {
		{"hold_ms = 1;\n", "h.conf: forwarding_table: missing; write { src = \"FILE\"; dst = "
				   "\"FILE\"; }"},
		{FILES "interval_ms = 'a';\n",
			"h.conf:2: interval_ms: 'a' (in quotes) is not an integer from 10 to 3600000"},
		{FILES "max_shrink = 101;\n", "h.conf:2: max_shrink: '101' is not an integer from 0 to 100"},
		{FILES "max_shrink = -1;\n", "h.conf:2: max_shrink: '-1' is not an integer from 0 to 100"},
		{FILES "panic_threshold = 101;\n", "h.conf:2: panic_threshold: '101' is not an integer from 0 to 100"},
		{FILES "source_ip = 'fd00::1';\n", "h.conf:2: source_ip: 'fd00::1' is not an IPv4 address"},
		{FILES "listen = 'localhost:80';\n", "h.conf:2: listen: 'localhost:80' is neither "
						     "\"none\" nor an address and port "
						     "like \"127.0.0.1:19521\" or \"[::1]:19521\""},
		{FILES "http = { status = 'ok'; };\n",
			"h.conf:2: http.status: 'ok' is not a set of statuses from 100 to 599 like "
			"\"200-299,304\""},
		{FILES "http = { status = 200; };\n",
			"h.conf:2: http.status: '200' (a number) is not a set of statuses from 100 "
			"to 599 like \"200-299,304\""},
		{FILES "http = { host = 'a/b'; };\n", "h.conf:2: http.host: 'a/b' is not a host name"},
		{FILES "tables = ( { name = 'a'; },\n{ name = 'b'; },\n{ name = 'a'; } );\n",
			"h.conf:4: tables[2].name: 'a' is given twice; give each table once"},
		{FILES "reload = { build = 'x'; notify = 'glb'; };\n", "h.conf:2: reload.notify: 'glb' is neither a unit "
								       "(\"glb-director.service\") "
								       "nor the full path of a pid file"},
		{FILES "reload_command = 'a';\nreload = { build = 'x'; };\n",
			"h.conf: reload_command: given together with reload; give one"},
		{"forwarding_table = { src = 'a'; dst = 'a'; };\n",
			"h.conf:1: forwarding_table.dst: 'a' is also src; glb-healthcheck would overwrite the table that you edit"},
		{"forwarding_table = { src = 'a'; dst = '././a'; };\n",
			"h.conf:1: forwarding_table.dst: '././a' is also src; glb-healthcheck would overwrite the table that you edit"},
		{FILES "reload = { build = './a.json'; };\n",
			"h.conf:2: reload.build: './a.json' is also src; glb-healthcheck would overwrite the table that you edit"},
		{FILES "reload = { build = '/proc/self/cwd/b.json'; };\n",
			"h.conf:2: reload.build: '/proc/self/cwd/b.json' is also dst; use different files"},
		{FILES "state_file = 'a.json';\n",
			"h.conf: state_file: 'a.json' is also src; glb-healthcheck would overwrite the table that you edit"},
		{FILES "state_file = './b.json';\n", "h.conf: state_file: './b.json' is also dst; use different files"},
		{FILES "reload = { build = './b.json.state'; };\n",
			"h.conf: state_file: 'b.json.state' is also build; use different files"},
		{"forwarding_table = { src = '/nonexistent/a'; dst = '/nonexistent/a'; };\n",
			"h.conf:1: forwarding_table.dst: '/nonexistent/a' is also src; glb-healthcheck would overwrite the table that you edit"},
	};
	char error[512];

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		assert_int_not_equal(read_text(examples[i][0], error), 0);
		assert_string_equal(error, examples[i][1]);
	}
}

static void test_links_are_followed(void **state)
{
	char folder[] = "/tmp/test_healthcheck_conf.XXXXXX", error[512], text[512], expected[512];
	char real[64], link[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(real, sizeof(real), "%s/real", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	fd = open(real, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(symlink("real", link), 0);
	snprintf(text, sizeof(text), "forwarding_table = { src = '%s'; dst = '%s'; };", real, link);
	snprintf(expected, sizeof(expected),
		"h.conf:1: forwarding_table.dst: '%s' is also src; glb-healthcheck would overwrite the table that you edit",
		link);
	assert_int_not_equal(read_text(text, error), 0);
	assert_string_equal(error, expected);
	unlink(link);
	assert_int_equal(read_text(text, error), 0);
	conf_free(&conf);
	unlink(real);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_trigger_is_the_default_of_both_directions),
		cmocka_unit_test(test_http_settings_of_a_table_start_as_a_copy_of_the_files),
		cmocka_unit_test(test_faults_name_line_key_and_value),
		cmocka_unit_test(test_links_are_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
