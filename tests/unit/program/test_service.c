/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests are the service manager: they receive the messages on a datagram socket, as sd_notify(3) describes it. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "program/service.h"

static int manager;
static char message[2048];

static const char *received(void)
{
	ssize_t size = recv(manager, message, sizeof(message) - 1, MSG_DONTWAIT);

	message[size < 0 ? 0 : size] = '\0';
	return message;
}

static int set_up(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[sizeof(address.sun_path)];
	int size = snprintf(name, sizeof(name), "@glb-test-service-%d", getpid());

	(void)state;
	memcpy(address.sun_path + 1, name + 1, (size_t)size - 1);
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(manager >= 0);
	assert_int_equal(bind(manager, (struct sockaddr *)&address,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)size)),
		0);
	return setenv("NOTIFY_SOCKET", name, 1);
}

static int tear_down(void **state)
{
	(void)state;
	unsetenv("NOTIFY_SOCKET");
	return close(manager);
}

static void test_messages_are_those_of_sd_notify(void **state)
{
	(void)state;
	service_ready();
	assert_string_equal(received(), "READY=1");
	service_ready_status("3 tables");
	assert_string_equal(received(), "READY=1\nSTATUS=3 tables");
	service_alive();
	assert_string_equal(received(), "WATCHDOG=1");
	service_status("4 tables");
	assert_string_equal(received(), "STATUS=4 tables");
	service_starting(30000000, "no link");
	assert_string_equal(received(), "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=no link");
	service_stopping();
	assert_string_equal(received(), "STOPPING=1");
	service_stopping_status(10000000, "soon");
	assert_string_equal(received(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=10000000\nSTATUS=soon");
}

static void test_a_reload_says_when_it_began(void **state)
{
	uint64_t before = clock_now_us(), began = 0;

	(void)state;
	service_reloading();
	assert_int_equal(sscanf(received(), "RELOADING=1\nMONOTONIC_USEC=%" SCNu64, &began), 1);
	assert_in_range(began, before, clock_now_us());
}

static void test_a_long_status_is_cut(void **state)
{
	char status[1500];

	(void)state;
	memset(status, 'x', sizeof(status) - 1);
	status[sizeof(status) - 1] = '\0';
	service_ready_status(status);
	assert_int_equal(strlen(received()), strlen("READY=1\nSTATUS=") + 1023);
}

/* A status may have texts from a file that somebody else wrote. */
static void test_a_status_cannot_become_another_message(void **state)
{
	(void)state;
	service_status("a\nMAINPID=1\303\274");
	assert_string_equal(received(), "STATUS=a?MAINPID=1??");
}

static void test_only_a_watchdog_of_this_process_counts(void **state)
{
	char pid[16];

	(void)state;
	assert_int_equal(service_watchdog_us(), 0);
	setenv("WATCHDOG_USEC", "2000000", 1);
	assert_int_equal(service_watchdog_us(), 2000000);
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(service_watchdog_us(), 0);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(service_watchdog_us(), 2000000);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

/* sd_notify(3) of libsystemd waits for ever. */
static void test_a_service_manager_that_does_not_read_stops_nobody(void **state)
{
	unsigned sent = 0, lost = 0;

	(void)state;
	while (sent < 100000 && service_status("full"))
		sent++;
	assert_in_range(sent, 1, 99999);
	while (lost < 1000 && !service_ready()) /* these do not wait */
		lost++;
	assert_int_equal(lost, 1000);
	for (unsigned i = 0; i < sent; i++)
		assert_string_equal(received(), "STATUS=full");
	assert_true(service_ready());
	assert_string_equal(received(), "READY=1");
	setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
	assert_false(service_ready());
	setenv("NOTIFY_SOCKET", "relative", 1);
	assert_true(service_ready());
}

static void test_without_a_service_manager_nothing_happens(void **state)
{
	(void)state;
	unsetenv("NOTIFY_SOCKET");
	service_ready();
	service_alive();
	assert_string_equal(received(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_are_those_of_sd_notify),
		cmocka_unit_test(test_a_reload_says_when_it_began),
		cmocka_unit_test(test_a_long_status_is_cut),
		cmocka_unit_test(test_a_status_cannot_become_another_message),
		cmocka_unit_test(test_only_a_watchdog_of_this_process_counts),
		cmocka_unit_test(test_a_service_manager_that_does_not_read_stops_nobody),
		cmocka_unit_test(test_without_a_service_manager_nothing_happens),
	};

	unsetenv("WATCHDOG_USEC");
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
