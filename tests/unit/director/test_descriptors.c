/* SPDX-License-Identifier: BSD-3-Clause */
/* Which file descriptor belongs to which receive queue. In a network namespace of its own. */
#include <fcntl.h>
#include <netpacket/packet.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "director/descriptors.h"

enum { LO = 1 };

static int packet_socket(int interface)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = interface};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (interface)
		assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void test_sockets_are_found_in_the_order_of_their_creation(void **state)
{
	int low, first, other, second;

	if (!*(bool *)*state)
		skip(); /* this user may not make a network namespace */
	low = open("/dev/null", O_RDONLY | O_CLOEXEC);
	first = packet_socket(LO);
	other = packet_socket(0);
	close(low); /* as another thread may, while a driver creates its sockets */
	second = packet_socket(LO);
	assert_int_equal(second, low);
	assert_int_equal(descriptors_packet_socket(LO, 0), first);
	assert_int_equal(descriptors_packet_socket(LO, 1), second);
	assert_int_equal(descriptors_packet_socket(LO, 2), -1);
	assert_int_equal(descriptors_packet_socket(LO + 1, 0), -1);
	close(first);
	close(second);
	close(other);
}

static int enter_namespace(void **state)
{
	static bool entered;

	entered = unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
	*state = &entered;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sockets_are_found_in_the_order_of_their_creation),
	};

	return cmocka_run_group_tests(tests, enter_namespace, NULL);
}
