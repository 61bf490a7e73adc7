/* SPDX-License-Identifier: BSD-3-Clause */
/* The log's reader is the other end of a pipe. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "program/log.h"

static int ends[2], old_stderr;

static int set_up(void **state)
{
	(void)state;
	old_stderr = dup(STDERR_FILENO);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	dup2(ends[1], STDERR_FILENO);
	log_open("test", false);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dup2(old_stderr, STDERR_FILENO);
	close(old_stderr);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

/* Reads everything. Returns the last of it as a string. */
static const char *drain(void)
{
	static char text[1 << 17];
	ssize_t size = read(ends[0], text, sizeof(text) - 1);

	text[size < 0 ? 0 : size] = '\0';
	return text;
}

/* A write would wait for ever. */
static void test_a_reader_that_does_not_read_stops_nobody(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		log_notice("a line");
	assert_non_null(strstr(drain(), "test: notice: a line\ntest: notice: a line\n"));
	log_notice("the end");
	assert_non_null(strstr(drain(), " lines are lost\ntest: notice: the end\n"));
	log_notice("more");
	assert_string_equal(drain(), "test: notice: more\n");
}

static void test_a_reader_that_is_gone_stops_nobody(void **state)
{
	(void)state;
	close(ends[0]);
	for (unsigned i = 0; i < 100000; i++)
		log_notice("a line");
	ends[0] = dup(STDIN_FILENO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_reader_that_does_not_read_stops_nobody, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_reader_that_is_gone_stops_nobody, set_up, tear_down),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
