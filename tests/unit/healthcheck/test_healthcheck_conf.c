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
	assert_true(conf.watch);
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

/* The http settings for this table, like those of a check. */
static struct conf_http *http_of(const char *table)
{
	struct http_settings settings = {0};

	conf_http_of(&conf, table, &settings);
	return conf_http_make(conf_http_text(&settings));
}

static void test_http_settings_of_a_table_override_those_of_the_file(void **state)
{
	struct conf_http *web, *git;
	char error[512];

	(void)state;
	assert_int_equal(read_text(FILES "tables = ( { name = 'web'; http = { tls = true; }; } );"
					 "http = { host = 'www.example.com'; status = '204'; };",
				 error),
		0);
	web = http_of("web");
	git = http_of("git");
	conf_free(&conf);
	assert_true(web->tls && !git->tls);
	assert_string_equal(web->host, "www.example.com");
	assert_true(status_set_has(&web->status, 204) && !status_set_has(&web->status, 200));
	assert_string_not_equal(web->text, git->text);
	conf_http_put(web);
	conf_http_put(git);
}

static void test_http_defaults(void **state)
{
	struct conf_http *http;
	char error[512];

	(void)state;
	assert_int_equal(read_text(FILES, error), 0);
	http = http_of("web");
	assert_true(http->verify && !http->tls && !http->http2);
	assert_true(status_set_has(&http->status, 200) && !status_set_has(&http->status, 204));
	assert_string_equal(http->method, "GET");
	assert_null(http->host);
	assert_null(http->headers);
	conf_http_put(http);
	conf_free(&conf);
}

static void test_headers_are_lines_and_their_values_are_in_no_error(void **state)
{
	static const char *const bad[][2] = {
		{"a = 'secret\\r\\nX: y'", "http.headers.a: has a value with a character that is not printable ASCII"},
		{"a = 'secret\\n'", "http.headers.a: has a value with a character that is not printable ASCII"},
		{"a = ' secret'",
			"http.headers.a: has a value that is empty, has more than 1024 characters, or begins or ends with a space"},
		{"a = ''",
			"http.headers.a: has a value that is empty, has more than 1024 characters, or begins or ends with a space"},
		{"a = 5", "http.headers.a: has a value that is not a string"},
		{"content-LENGTH = 'secret'",
			"http.headers.content-LENGTH: cannot be set, because it belongs to the connection or the framing"},
		{"Host = 'secret'", "http.headers.Host: cannot be set here; use the setting for the host"},
		{"", "http.headers: is not a group of 1 to 32 headers: { NAME = \"VALUE\"; }"},
	};
	char error[512], text[512], expected[512];
	struct conf_http *http;

	(void)state;
	assert_int_equal(read_text(FILES "http = { headers = { Accept = 'a/b'; X-Token = 'x: y'; }; };", error), 0);
	http = http_of("web");
	assert_string_equal(http->headers, "Accept: a/b\nX-Token: x: y\n");
	conf_http_put(http);
	conf_free(&conf);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), FILES "http = { headers = { %s }; };", bad[i][0]);
		snprintf(expected, sizeof(expected), "h.conf:2: %s", bad[i][1]);
		assert_int_not_equal(read_text(text, error), 0);
		assert_string_equal(error, expected);
	}
}

static void test_a_header_name_is_a_token(void **state)
{
	(void)state;
	assert_null(http_header_fault("X-Token", "v"));
	assert_non_null(http_header_fault("X Token", "v"));
	assert_non_null(http_header_fault("X:", "v"));
	assert_non_null(http_header_fault("X\r\nY", "v"));
	assert_non_null(http_header_fault("", "v"));
	assert_non_null(http_header_fault("\xc3\xbc", "v"));
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
		{FILES "http = { method = 'DELETE'; };\n",
			"h.conf:2: http.method: 'DELETE' is not a method: GET, HEAD or OPTIONS"},
		{FILES "http = { version = 2; };\n",
			"h.conf:2: http.version: '2' (a number) is not a version of HTTP: \"1.1\" or \"2\""},
		{FILES "http = { tls = 'yes'; };\n", "h.conf:2: http.tls: 'yes' (in quotes) is not true or false"},
		{FILES "http = { body = 'a\\rb'; };\n",
			"h.conf:2: http.body: 'a?b' is not a text of at most 1024 bytes without control characters"},
		{FILES "http = { method = 'HEAD'; body = 'ok'; };\n",
			"h.conf:2: http: a text is expected in the body, but a response to HEAD has no body: use GET, or expect no text"},
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
		cmocka_unit_test(test_http_settings_of_a_table_override_those_of_the_file),
		cmocka_unit_test(test_http_defaults),
		cmocka_unit_test(test_headers_are_lines_and_their_values_are_in_no_error),
		cmocka_unit_test(test_a_header_name_is_a_token),
		cmocka_unit_test(test_faults_name_line_key_and_value),
		cmocka_unit_test(test_links_are_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
