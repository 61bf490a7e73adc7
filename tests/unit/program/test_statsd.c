/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests are the server: they receive the datagrams on a socket of loopback. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "program/statsd/statsd.h"

static struct statsd_config config;
static struct statsd *statsd;
static struct openmetrics to;
static int server;
static char received[65536];

static int set_up(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	(void)state;
	server = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(server, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);
	config = (struct statsd_config){
		.enabled = true, .host = "127.0.0.1", .port = ntohs(address.sin_port), .prefix = "glb"};
	statsd = statsd_open(&config);
	to = (struct openmetrics){.take = statsd_take, .take_context = statsd};
	for (int ms = 0; !statsd_ready(statsd, clock_now_ms()); ms++) {
		assert_in_range(ms, 0, 10000); /* else loopback is down, for example */
		usleep(1000);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	statsd_close(statsd);
	close(server);
	return 0;
}

static unsigned datagrams;

/* Ends the round, and returns all lines that were received. */
static const char *end(bool complete)
{
	size_t at = 0;
	ssize_t size;

	statsd_end(statsd, complete, clock_now_ms());
	datagrams = 0;
	while ((size = recv(server, received + at, sizeof(received) - at - 2, MSG_DONTWAIT)) > 0) {
		assert_true(size <= 1432);
		at += (size_t)size;
		received[at++] = '\n';
		datagrams++;
	}
	received[at] = '\0';
	return received;
}

static void drops(const char *reason, uint64_t value)
{
	openmetrics_family(&to, "drops", OPENMETRICS_COUNTER, "h");
	openmetrics_number(&to, OPENMETRICS_LABELS({"table", "web"}, {"reason", reason}), value);
}

static void test_counters_are_differences_and_gauges_are_not(void **state)
{
	(void)state;
	drops("full", 7);
	openmetrics_gauge(&to, "up", "h", 1);
	assert_string_equal(end(true), "glb.drops.web.full:7|c\nglb.up:1|g\n");
	drops("full", 7);
	openmetrics_gauge(&to, "up", "h", 0);
	assert_string_equal(end(true), "glb.up:0|g\n");
	drops("full", 10);
	drops("late", 5);
	assert_string_equal(end(true), "glb.drops.web.full:3|c\nglb.drops.web.late:5|c\n");
	drops("full", 4); /* it began at 0 again */
	assert_string_equal(end(true), "glb.drops.web.full:4|c\n");
	drops("late", 6); /* it was missing once, so it is another one */
	assert_string_equal(end(true), "glb.drops.web.late:6|c\n");
}

static void test_incomplete_round_forgets_nothing(void **state)
{
	(void)state;
	drops("full", 7);
	drops("late", 5);
	end(true);
	drops("full", 9);
	assert_string_equal(end(false), "glb.drops.web.full:2|c\n");
	drops("full", 10);
	drops("late", 6);
	assert_string_equal(end(true), "glb.drops.web.full:1|c\nglb.drops.web.late:1|c\n");
}

static void test_labels_are_tags_of_dogstatsd(void **state)
{
	(void)state;
	config.tags = true;
	drops("full", 7);
	assert_string_equal(end(true), "glb.drops:7|c|#table:web,reason:full\n");
	drops("a|b,c#d\n\xc3 e:f@", 7);
	assert_string_equal(end(true), "glb.drops:7|c|#table:web,reason:a_b_c_d___e:f_\n");
}

static void test_labels_in_names_cannot_break_a_line(void **state)
{
	(void)state;
	drops("192.0.2.1:x|c\n\xff", 1);
	assert_string_equal(end(true), "glb.drops.web.192_0_2_1_x_c__:1|c\n");
}

static void test_names_that_look_alike_keep_their_own_counts(void **state)
{
	(void)state;
	drops("a.b", 5);
	drops("a_b", 100);
	end(true);
	drops("a.b", 6);
	drops("a_b", 102);
	assert_string_equal(end(true), "glb.drops.web.a_b:1|c\nglb.drops.web.a_b:2|c\n");
}

static void test_infos_and_histograms_are_left_out(void **state)
{
	static const double bound = 1;
	static const uint64_t counts[] = {1, 2};

	(void)state;
	openmetrics_family(&to, "build", OPENMETRICS_INFO, "h");
	openmetrics_info(&to, OPENMETRICS_LABELS({"version", "1"}));
	openmetrics_family(&to, "gaps", OPENMETRICS_HISTOGRAM, "h");
	openmetrics_histogram(&to, OPENMETRICS_NO_LABELS, &bound, counts, 1, 2);
	openmetrics_family(&to, "busy_seconds", OPENMETRICS_COUNTER, "h");
	openmetrics_real(&to, OPENMETRICS_NO_LABELS, 0.25);
	openmetrics_end(&to);
	assert_string_equal(end(true), "glb.busy_seconds:0.25|c\n");
}

static void test_many_metrics_fill_several_datagrams(void **state)
{
	char reason[16];
	unsigned lines = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(reason, sizeof(reason), "%u", i);
		drops(reason, 1);
	}
	end(true);
	for (const char *at = received; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 1000);
	assert_true(datagrams >= 15 && datagrams <= 25);
}

static void test_server_that_is_down_costs_nothing(void **state)
{
	(void)state;
	close(server);
	for (unsigned i = 0; i < 100; i++) {
		drops("full", i);
		statsd_end(statsd, true, clock_now_ms());
	}
	server = -1;
}

static void test_host_without_address_is_never_ready(void **state)
{
	struct statsd_config nowhere = {.enabled = true, .host = "no..host", .port = 1, .prefix = "x"};
	struct statsd *made = statsd_open(&nowhere);

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		assert_false(statsd_ready(made, clock_now_ms()));
		usleep(1000);
	}
	statsd_close(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_counters_are_differences_and_gauges_are_not, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_incomplete_round_forgets_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_labels_are_tags_of_dogstatsd, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_labels_in_names_cannot_break_a_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names_that_look_alike_keep_their_own_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_infos_and_histograms_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_metrics_fill_several_datagrams, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_server_that_is_down_costs_nothing, set_up, tear_down),
		cmocka_unit_test(test_host_without_address_is_never_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
