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
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "director/descriptors.h"

enum { LO = 1 };

/* What /proc/self/net/packet has. NULL: the kernel's own. */
static char *list;

FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	return list && strcmp(path, "/proc/self/net/packet") == 0 ? fmemopen(list, strlen(list), "r")
								  : __real_fopen64(path, mode);
}

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

static unsigned long inode_of(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return status.st_ino;
}

/*
 * The formats of Linux 5.10 to 6.18. They pad the inode to six characters, so in the first minutes after a boot blanks follow it: here
 * always, since the inodes of a machine that has run for longer have more digits.
 */
static void test_blanks_after_the_inode_do_not_hide_a_socket(void **state)
{
	static const char *const formats[] = {
		"%s 3      3    0003   1     1 0      0      %-12lu\n",
		"%s 3      3    0003   1234567 1 4294967295 4294967294 %lu\n",
		"%s 10000000 3    88cc   1     1 16777216 0      %lu \n",
	};
	static const char *const addresses[] = {"00000000edddbf7e", "edddbf7e", "0000000000000000", "(____ptrval____)"};
	char text[1024];
	int first, second;

	if (!*(bool *)*state)
		skip(); /* this user may not make a network namespace */
	first = packet_socket(LO);
	second = packet_socket(LO);
	list = text;
	for (size_t f = 0; f < sizeof(formats) / sizeof(*formats); f++) {
		for (size_t a = 0; a < sizeof(addresses) / sizeof(*addresses); a++) {
			int size = snprintf(text, sizeof(text),
				"sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n");

			size += snprintf(
				text + size, sizeof(text) - (size_t)size, formats[f], addresses[a], inode_of(second));
			snprintf(text + size, sizeof(text) - (size_t)size, formats[f], addresses[a], inode_of(first));
			assert_int_equal(descriptors_packet_socket(LO, 0), second);
			assert_int_equal(descriptors_packet_socket(LO, 1), first);
			assert_int_equal(descriptors_packet_socket(LO, 2), -1);
		}
	}
	list = NULL;
	close(first);
	close(second);
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
		cmocka_unit_test(test_blanks_after_the_inode_do_not_hide_a_socket),
	};

	return cmocka_run_group_tests(tests, enter_namespace, NULL);
}
