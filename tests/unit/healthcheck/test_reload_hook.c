/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "healthcheck/publish/reload_hook.h"

/* Processes that cannot be killed: in the kernel, waiting for a dead server, or of another user (sudo). */
static bool unkillable;

int kill(pid_t pid, int number)
{
	return unkillable ? 0 : (int)syscall(SYS_kill, pid, number);
}

/* The event loop looks after children only in the default loop. */
static void open_hook(struct reload_hook *hook, struct conf *conf, const char *command)
{
	*conf = (struct conf){.reload_command = (char *)command, .reload_timeout_ms = 20};
	reload_hook_open(hook, ev_default_loop(EVFLAG_AUTO), conf);
	hook->grace_ms = 20;
}

static void run_until_failed(struct reload_hook *hook, uint64_t failed_runs)
{
	while (hook->failed_runs < failed_runs)
		ev_run(hook->loop, EVRUN_ONCE);
}

static void end_orphans(struct reload_hook *hook)
{
	for (int i = 0; i < RELOAD_HOOK_ORPHANS; i++)
		if (ev_is_active(&hook->orphans[i].child))
			syscall(SYS_kill, -hook->orphans[i].child.pid, SIGKILL);
}

static void test_child_that_cannot_be_killed_does_not_stop_later_reloads(void **state)
{
	struct reload_hook hook;
	struct conf conf;

	(void)state;
	open_hook(&hook, &conf, "exec sleep 1000");
	unkillable = true;
	reload_hook_request(&hook);
	reload_hook_request(&hook); /* a new table during the run */
	run_until_failed(&hook, 1);
	assert_non_null(strstr(hook.error, " does not end although it was killed"));
	conf.reload_command = (char *)"exit 0";
	while (hook.state != RELOAD_HOOK_DONE)
		ev_run(hook.loop, EVRUN_ONCE);
	assert_int_equal(hook.runs, hook.failed_runs + 1);
	/* The hook runs once more when the child ends: it may have written an old table last. */
	uint64_t runs = hook.runs;
	end_orphans(&hook);
	while (hook.runs == runs || hook.state != RELOAD_HOOK_DONE)
		ev_run(hook.loop, EVRUN_ONCE);
	unkillable = false;
	reload_hook_close(&hook);
}

static void test_number_of_children_that_cannot_be_killed_is_limited(void **state)
{
	struct reload_hook hook;
	struct conf conf;

	(void)state;
	open_hook(&hook, &conf, "exec sleep 1000");
	unkillable = true;
	for (uint64_t i = 1; i <= RELOAD_HOOK_ORPHANS; i++) {
		reload_hook_request(&hook);
		run_until_failed(&hook, i);
	}
	reload_hook_request(&hook);
	assert_int_equal(hook.state, RELOAD_HOOK_FAILED);
	assert_int_equal(hook.child.pid, 0);
	assert_string_equal(hook.error, "4 earlier processes do not end although they were killed");
	assert_true(ev_is_active(&hook.retry));
	unkillable = false;
	end_orphans(&hook);
	reload_hook_close(&hook);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child_that_cannot_be_killed_does_not_stop_later_reloads),
		cmocka_unit_test(test_number_of_children_that_cannot_be_killed_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
