/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "healthcheck/monitor/watch.h"

static void ignore(void *data)
{
	(void)data;
}

/* inotify_init1() fails in the same way when fs.inotify.max_user_instances is used up. */
static void test_failure_leaves_nothing_to_close(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct rlimit limit, none = {0};
	struct watch watch;
	int error;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none.rlim_max = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	error = watch_open(&watch, loop, "/etc/glb/forwarding_table.json", ignore, NULL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(error, -EMFILE);
	watch_close(&watch);
	ev_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failure_leaves_nothing_to_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
