/* SPDX-License-Identifier: BSD-3-Clause */
/* output_of() with programs that fail, hang, or print without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "common/clock.h"
#include "program/output_of.h"

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);

static unsigned speed; /* of the clock */
static pid_t killed;
static bool cannot_kill; /* as if the program waited for a card in the kernel */
static char *text;
static size_t size;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int error = __real_clock_gettime(clock, now);
	uint64_t ns = ((uint64_t)now->tv_sec * CLOCK_NS_PER_S + (uint64_t)now->tv_nsec) * speed;

	now->tv_sec = (time_t)(ns / CLOCK_NS_PER_S);
	now->tv_nsec = (long)(ns % CLOCK_NS_PER_S);
	return error;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	return __real_poll(fds, count, timeout_ms / (int)speed);
}

int __wrap_kill(pid_t pid, int number)
{
	killed = -pid; /* its group */
	if (cannot_kill)
		return 0;
	speed = 1; /* a slow machine needs some time to end it */
	return __real_kill(pid, number);
}

static int set_up(void **state)
{
	(void)state;
	speed = 1;
	killed = 0;
	cannot_kill = false;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

static int run(const char *script)
{
	char *const words[] = {"sh", "-c", (char *)script, NULL};

	return output_of(words, &text, &size);
}

static void test_output_of_a_program(void **state)
{
	(void)state;
	assert_int_equal(run("echo one; echo two >&2"), 0);
	assert_string_equal(text, "one\n");
	assert_int_equal(size, 4);
}

static void test_output_of_several_megabytes(void **state)
{
	(void)state;
	assert_int_equal(run("head -c 5000000 /dev/zero"), 0);
	assert_int_equal(size, 5000000);
}

static void test_a_program_that_fails_says_more_on_stderr(void **state)
{
	char *const words[] = {"sh", "-c", "echo no such card >&2; exit 3", NULL};

	(void)state;
	assert_int_equal(output_of(words, &text, &size), -EIO);
	assert_null(text);
	assert_string_equal(output_of_reason(-EIO), "it ended with an error");
	assert_int_equal(output_of_both(words, &text, &size), -EIO);
	assert_string_equal(text, "no such card\n");
}

static void test_a_program_that_is_missing(void **state)
{
	char *const words[] = {"glb-no-such-program", NULL};

	(void)state;
	assert_int_equal(output_of(words, &text, &size), -ENOENT);
	assert_int_equal(run("exit 127"), -ENOENT);
	assert_string_equal(output_of_reason(-ENOENT), "there is no such program");
}

static void test_a_program_that_cannot_be_executed(void **state)
{
	char *const words[] = {"/dev/null", NULL};

	(void)state;
	assert_int_equal(output_of(words, &text, &size), -EACCES);
}

static void test_a_program_does_not_wait_for_whoever_holds_its_output(void **state)
{
	(void)state;
	assert_int_equal(run("sleep 600 & echo done"), 0);
	assert_string_equal(text, "done\n");
}

static void test_a_caller_whose_parent_ignored_its_children(void **state)
{
	(void)state;
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(run("echo done"), 0);
	free(text);
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(run("exit 3"), -EIO);
}

static void test_a_program_that_a_signal_ends(void **state)
{
	(void)state;
	assert_int_equal(run("echo half; kill -KILL $$"), -(OUTPUT_OF_SIGNAL + SIGKILL));
	assert_null(text);
	assert_string_equal(output_of_reason(-(OUTPUT_OF_SIGNAL + SIGKILL)), "signal 9 ended it (Killed)");
}

static void test_a_program_that_prints_without_end_is_killed(void **state)
{
	(void)state;
	assert_int_equal(run("exec cat /dev/zero"), -EFBIG);
	assert_null(text);
	assert_int_equal(waitpid(killed, NULL, 0), -1);
	assert_string_equal(output_of_reason(-EFBIG), "it printed more than 256 MB, so it was killed");
}

static void expect_timeout(const char *script)
{
	speed = 100;
	assert_int_equal(run(script), -ETIMEDOUT);
	assert_null(text);
	assert_int_not_equal(killed, 0);
	assert_string_equal(output_of_reason(-ETIMEDOUT), "it did not end within 20 seconds, so it was killed");
}

static void test_a_program_that_does_not_end_is_killed(void **state)
{
	(void)state;
	expect_timeout("while :; do echo; sleep 0.05; done");
	assert_int_equal(waitpid(killed, NULL, 0), -1);
}

static void test_a_program_that_closes_its_output_and_does_not_end_is_killed(void **state)
{
	(void)state;
	expect_timeout("exec >&-; exec sleep 600");
	assert_int_equal(waitpid(killed, NULL, 0), -1);
}

static void test_a_program_that_cannot_be_killed_is_left_behind(void **state)
{
	(void)state;
	cannot_kill = true;
	expect_timeout("exec >&-; exec sleep 600");
	assert_int_equal(__real_kill(killed, SIGKILL), 0);
	assert_int_equal(waitpid(killed, NULL, 0), killed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_output_of_a_program),
		TEST(test_output_of_several_megabytes),
		TEST(test_a_program_that_fails_says_more_on_stderr),
		TEST(test_a_program_that_is_missing),
		TEST(test_a_program_that_cannot_be_executed),
		TEST(test_a_program_does_not_wait_for_whoever_holds_its_output),
		TEST(test_a_caller_whose_parent_ignored_its_children),
		TEST(test_a_program_that_a_signal_ends),
		TEST(test_a_program_that_prints_without_end_is_killed),
		TEST(test_a_program_that_does_not_end_is_killed),
		TEST(test_a_program_that_closes_its_output_and_does_not_end_is_killed),
		TEST(test_a_program_that_cannot_be_killed_is_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
