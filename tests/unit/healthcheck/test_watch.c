/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "healthcheck/watch/watch.h"

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

/* A watch in a new folder, which becomes the current one. */
struct fixture {
	struct ev_loop *loop;
	struct watch watch;
	unsigned calls;
	char folder[32];
};

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

static void end_loop(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	ev_break(loop, EVBREAK_ONE);
}

static void run_loop(struct fixture *fixture, double seconds)
{
	ev_timer timer;

	ev_now_update(fixture->loop);
	ev_timer_init(&timer, end_loop, seconds, 0);
	ev_timer_start(fixture->loop, &timer);
	ev_run(fixture->loop, 0);
	ev_timer_stop(fixture->loop, &timer);
}

static void count(void *data)
{
	struct fixture *fixture = data;

	fixture->calls++;
	ev_break(fixture->loop, EVBREAK_ONE);
}

/* Waits for a call, and then for further ones. Returns how many there were. */
static unsigned calls(struct fixture *fixture)
{
	fixture->calls = 0;
	run_loop(fixture, 5);
	run_loop(fixture, 0.03);
	return fixture->calls;
}

/* Waits for as long as a change needs to settle. */
static unsigned calls_soon(struct fixture *fixture)
{
	fixture->calls = 0;
	run_loop(fixture, 0.05);
	return fixture->calls;
}

static void open_fixture(struct fixture *fixture, const char *prepare)
{
	*fixture = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO), .folder = "/tmp/test_watch.XXXXXX"};
	assert_non_null(mkdtemp(fixture->folder));
	assert_int_equal(chdir(fixture->folder), 0);
	run(prepare);
	assert_int_equal(watch_open(&fixture->watch, fixture->loop, "src.json", count, fixture), 0);
	fixture->watch.settle_s = 0.01;
	assert_int_equal(calls(fixture), 1); /* at start */
	assert_int_equal(calls_soon(fixture), 0);
}

static void close_fixture(struct fixture *fixture)
{
	char command[64];

	watch_close(&fixture->watch);
	ev_loop_destroy(fixture->loop);
	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -r %s", fixture->folder);
	run(command);
}

static void assert_seen(struct fixture *fixture, const char *const *commands)
{
	for (; *commands; commands++) {
		run(*commands);
		if (calls(fixture) != 1)
			fail_msg("%u calls after: %s", fixture->calls, *commands);
	}
	assert_int_equal(calls_soon(fixture), 0);
}

static void test_changes_of_a_file_are_seen(void **state)
{
	struct fixture fixture;

	(void)state;
	open_fixture(&fixture, "echo 1 >src.json");
	assert_seen(&fixture,
		(const char *const[]){"echo 2 >src.json", "chmod 600 src.json", "rm src.json", "echo 3 >src.json",
			"echo 4 >new; mv new src.json", "ln src.json hard; mv src.json old", "mv hard src.json", NULL});
	run("echo 5 >other; chmod 600 other; rm other");
	assert_int_equal(calls_soon(&fixture), 0); /* another file */
	close_fixture(&fixture);
}

static void test_changes_of_links_and_of_their_targets_are_seen(void **state)
{
	struct fixture fixture;

	(void)state;
	open_fixture(
		&fixture, "mkdir one two; echo 1 >one/file; echo 2 >two/file; ln -s one now; ln -s now/file src.json");
	assert_seen(&fixture,
		(const char *const[]){"echo 1 >>one/file", "chmod 600 one/file", "echo 3 >one/new; mv one/new one/file",
			"ln -sfn two now", "echo 2 >>two/file", "rm now; ln -s one now", "echo 1 >>one/file",
			"ln -sf two/file src.json", "echo 2 >>two/file", "rm two/file", "echo 3 >two/file", NULL});
	run("echo 4 >>one/file"); /* no link leads to it any more */
	assert_int_equal(calls_soon(&fixture), 0);
	close_fixture(&fixture);
}

static void test_release_folder_that_is_replaced_is_seen(void **state)
{
	struct fixture fixture;

	(void)state;
	open_fixture(&fixture, "mkdir -p releases/1 releases/2; touch releases/1/src.json releases/2/src.json; "
			       "ln -s \"$PWD/releases/1\" current; ln -s current/src.json src.json");
	assert_seen(&fixture,
		(const char *const[]){"ln -s releases/2 new; mv -T new current", "echo 2 >releases/2/src.json",
			"mv releases/2 releases/3", "mkdir releases/2; touch releases/2/src.json", NULL});
	close_fixture(&fixture);
}

static void test_loops_of_links_and_long_chains_end(void **state)
{
	struct fixture fixture;

	(void)state;
	open_fixture(&fixture, "ln -s src.json src.json");
	assert_seen(&fixture, (const char *const[]){"rm src.json; touch src.json", NULL});
	close_fixture(&fixture);
	open_fixture(&fixture, "touch l0; for i in $(seq 60); do ln -s l$((i - 1)) l$i; done; ln -s l60 src.json");
	assert_seen(&fixture, (const char *const[]){"ln -sfn l0 l40", NULL});
	close_fixture(&fixture);
}

/* inotify_add_watch(2) fails for any folder after fs.inotify.max_user_watches, and for one without the right to read. */
static void test_loop_of_links_in_a_folder_that_cannot_be_watched_ends(void **state)
{
	struct fixture fixture;
	int inotify;

	(void)state;
	open_fixture(&fixture, "touch src.json");
	inotify = fixture.watch.fd;
	fixture.watch.fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* so that it fails for root, too */
	assert_true(fixture.watch.fd >= 0);
	run("rm src.json; ln -s src.json src.json");
	alarm(60);
	assert_int_equal(calls(&fixture), 1);
	alarm(0);
	assert_int_equal(fixture.watch.places[0].descriptor, -1);
	run("rm src.json; touch src.json");
	close(fixture.watch.fd);
	fixture.watch.fd = inotify;
	close_fixture(&fixture);
}

/* As on a file system of another host. */
static void test_change_without_an_event_is_seen_by_a_look(void **state)
{
	struct fixture fixture;

	(void)state;
	open_fixture(&fixture, "echo 1 >src.json");
	ev_io_stop(fixture.loop, &fixture.watch.io);
	run("echo 2 >src.json");
	assert_int_equal(calls_soon(&fixture), 0);
	fixture.watch.look.repeat = 0.01;
	ev_timer_again(fixture.loop, &fixture.watch.look);
	assert_int_equal(calls(&fixture), 1);
	assert_int_equal(calls_soon(&fixture), 0);
	run("rm src.json");
	assert_int_equal(calls(&fixture), 1);
	close_fixture(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failure_leaves_nothing_to_close),
		cmocka_unit_test(test_changes_of_a_file_are_seen),
		cmocka_unit_test(test_changes_of_links_and_of_their_targets_are_seen),
		cmocka_unit_test(test_release_folder_that_is_replaced_is_seen),
		cmocka_unit_test(test_loops_of_links_and_long_chains_end),
		cmocka_unit_test(test_loop_of_links_in_a_folder_that_cannot_be_watched_ends),
		cmocka_unit_test(test_change_without_an_event_is_seen_by_a_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
