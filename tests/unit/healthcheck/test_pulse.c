/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/container_of.h"
#include "healthcheck/checks/probe.h"

#define MS 1000

static void test_short_iterations_are_no_stall(void **state)
{
	struct pulse_meter meter = {0};
	uint64_t now = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		pulse_meter_wake(&meter, now += PULSE_BEAT_US);
		pulse_meter_sleep(&meter, now += PULSE_NORMAL_US);
	}
	assert_int_equal(pulse_meter_stalled(&meter, now), 0);
}

static void test_long_iteration_is_a_stall_from_its_start(void **state)
{
	struct pulse_meter meter = {0};

	(void)state;
	pulse_meter_wake(&meter, 10 * MS);
	assert_int_equal(pulse_meter_stalled(&meter, 15 * MS), 0);
	assert_int_equal(pulse_meter_stalled(&meter, 40 * MS), 30 * MS);
	pulse_meter_sleep(&meter, 50 * MS);
	pulse_meter_wake(&meter, 60 * MS);
	assert_int_equal(pulse_meter_stalled(&meter, 61 * MS), 40 * MS);
}

/* SIGSTOP, the freezer, a virtual machine that is paused. */
static void test_wait_longer_than_a_beat_is_a_stall(void **state)
{
	struct pulse_meter meter = {0};

	(void)state;
	pulse_meter_wake(&meter, 3000 * MS);
	assert_int_equal(pulse_meter_stalled(&meter, 3000 * MS), 3000 * MS - PULSE_BEAT_US);
}

/* A probe of a proxy whose last packet arrives `reply_ms` after the loop has handled its first one. */
struct scene {
	struct check_env env;
	struct probe probe;
	ev_timer stall, reply;
	unsigned stall_ms, reply_ms, stalls;
	/* The result if the reply is a failure. */
	enum check_result result;
};

static void on_reply(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct scene *scene = timer->data;

	(void)loop;
	(void)events;
	probe_end(&scene->probe, scene->result, "reply");
}

static void on_stall(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct scene *scene = timer->data;

	(void)events;
	usleep(scene->stall_ms * 1000);
	ev_now_update(loop);
	if (--scene->stalls) {
		ev_timer_set(timer, 0, 0);
		ev_timer_start(loop, timer);
	} else if (scene->reply_ms) {
		ev_timer_set(&scene->reply, scene->reply_ms / 1e3, 0);
		ev_timer_start(loop, &scene->reply);
	}
}

static void start(struct probe *probe)
{
	struct scene *scene = container_of(probe, struct scene, probe);

	ev_timer_init(&scene->stall, on_stall, 0.001, 0);
	ev_timer_init(&scene->reply, on_reply, 0, 0);
	scene->stall.data = scene->reply.data = scene;
	ev_timer_start(scene->env.loop, &scene->stall);
}

static void cancel(struct probe *probe)
{
	struct scene *scene = container_of(probe, struct scene, probe);

	ev_timer_stop(scene->env.loop, &scene->stall);
	ev_timer_stop(scene->env.loop, &scene->reply);
}

static void done(struct probe *probe)
{
	ev_break(probe->env->loop, EVBREAK_ALL);
}

static enum check_result play(struct scene *scene, unsigned timeout_ms)
{
	static const struct probe_method method = {.start = start, .stop = cancel};

	scene->env.loop = ev_loop_new(EVFLAG_AUTO);
	pulse_open(&scene->env.pulse, scene->env.loop);
	scene->probe = (struct probe){.env = &scene->env, .method = &method, .done = done};
	probe_start(&scene->probe, timeout_ms);
	ev_run(scene->env.loop, 0);
	pulse_close(&scene->env.pulse);
	ev_loop_destroy(scene->env.loop);
	return scene->probe.result;
}

static void test_reply_after_a_stall_is_in_time(void **state)
{
	/* The margins are large, because other processes use the CPU, too. */
	struct scene scene = {.stall_ms = 350, .reply_ms = 500, .stalls = 2};

	(void)state;
	assert_int_equal(play(&scene, 1000), CHECK_PASSED);
}

static void test_stall_of_several_timeouts_is_no_verdict(void **state)
{
	struct scene scene = {.stall_ms = 400, .stalls = 1};

	(void)state;
	assert_int_equal(play(&scene, 100), CHECK_NOT_RUN);
	assert_non_null(strstr(scene.probe.reason, "glb-healthcheck could not run for "));
}

static void test_connection_that_breaks_after_a_stall_is_no_verdict(void **state)
{
	struct scene scene = {.stall_ms = 120, .reply_ms = 1, .stalls = 1, .result = CHECK_RESET};

	(void)state;
	assert_int_equal(play(&scene, 60), CHECK_NOT_RUN);
}

static void test_proxy_that_does_not_reply_times_out(void **state)
{
	struct scene scene = {.stall_ms = 1, .stalls = 1};

	(void)state;
	assert_int_equal(play(&scene, 500), CHECK_TIMED_OUT);
	/* It is found out also while stalls take more time than the timeout. */
	scene = (struct scene){.stall_ms = 600, .stalls = 1};
	assert_int_equal(play(&scene, 500), CHECK_TIMED_OUT);
	scene = (struct scene){.stall_ms = 1, .reply_ms = 1, .stalls = 1, .result = CHECK_RESET};
	assert_int_equal(play(&scene, 500), CHECK_RESET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_iterations_are_no_stall),
		cmocka_unit_test(test_long_iteration_is_a_stall_from_its_start),
		cmocka_unit_test(test_wait_longer_than_a_beat_is_a_stall),
		cmocka_unit_test(test_reply_after_a_stall_is_in_time),
		cmocka_unit_test(test_stall_of_several_timeouts_is_no_verdict),
		cmocka_unit_test(test_connection_that_breaks_after_a_stall_is_no_verdict),
		cmocka_unit_test(test_proxy_that_does_not_reply_times_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
