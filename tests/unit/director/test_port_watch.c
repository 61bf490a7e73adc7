/* SPDX-License-Identifier: BSD-3-Clause */
/* If a card does not answer while the director starts, the log names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "director/ports/port_watch.h"
#include "program/log.h"

static int log_pipe[2], errors;

static int begin(void **state)
{
	(void)state;
	errors = dup(STDERR_FILENO);
	return pipe(log_pipe) || dup2(log_pipe[1], STDERR_FILENO) < 0 || close(log_pipe[1]);
}

static int end(void **state)
{
	(void)state;
	return dup2(errors, STDERR_FILENO) < 0 || close(errors) || close(log_pipe[0]);
}

static const struct port card = {.id = 0, .name = "0000:07:00.0", .info.driver_name = "net_virtio"};

static void test_card_that_does_not_answer_is_named(void **state)
{
	struct port_watch watch;
	char line[512];
	ssize_t size;

	(void)state;
	port_watch_begin(&watch, PORT_WATCH_START, &card, 0);
	size = read(log_pipe[0], line, sizeof(line) - 1);
	assert_true(size > 0);
	line[size] = '\0';
	assert_non_null(strstr(line, "port 0 (0000:07:00.0): the card does not answer its driver net_virtio"));
	port_watch_end(&watch);
}

static void test_card_that_answers_is_not_logged(void **state)
{
	struct port_watch watch;
	char byte;

	(void)state;
	port_watch_begin(&watch, PORT_WATCH_STOP, &card, -1);
	port_watch_end(&watch);
	dup2(errors, STDERR_FILENO); /* so that the pipe has no writer */
	assert_int_equal(read(log_pipe[0], &byte, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_card_that_does_not_answer_is_named, begin, end),
		cmocka_unit_test_setup_teardown(test_card_that_answers_is_not_logged, begin, end),
	};

	log_open("test", false);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
