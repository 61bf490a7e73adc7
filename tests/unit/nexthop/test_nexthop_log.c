/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "director/nexthop/nexthop_state.h"

static const char *room, *room6; /* the contents of the kernel's files; NULL: it cannot be read */

/* Takes the place of the C library's function. */
FILE *fopen(const char *path, const char *mode)
{
	bool ipv6 = strstr(path, "ipv6");
	const char *content = ipv6 ? room6 : room;

	(void)mode;
	assert_string_equal(path,
		ipv6 ? "/proc/sys/net/ipv6/neigh/default/gc_thresh3" : "/proc/sys/net/ipv4/neigh/default/gc_thresh3");
	return content ? fmemopen((void *)(uintptr_t)content, strlen(content), "r") : NULL;
}

/* Returns what nexthop_log_room() writes to the standard error output. */
static const char *log_room(struct nexthop *nexthop, const char *content, const char *content6)
{
	static char text[512];
	int saved = dup(STDERR_FILENO), pipes[2];
	ssize_t size;

	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	room = content;
	room6 = content6;
	nexthop_log_room(nexthop);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipes[1]);
	size = read(pipes[0], text, sizeof(text) - 1);
	close(pipes[0]);
	text[size > 0 ? size : 0] = '\0';
	return text;
}

static void test_too_many_neighbours_for_the_kernel_are_a_warning(void **state)
{
	struct nexthop *nexthop = calloc(1, sizeof(*nexthop));
	struct neighbour_key key = {.interface = 1, .family = AF_INET6};

	(void)state;
	assert_non_null(nexthop);
	for (uint8_t i = 0; i < 5; i++) {
		key.address[3] = i;
		key.family = i < 2 ? AF_INET6 : AF_INET; /* IPv6 neighbours have another limit */
		assert_non_null(neighbours_get(&nexthop->neighbours, &key, 1));
	}
	assert_string_equal(log_room(nexthop, "4\n", "3"), "");
	assert_string_equal(log_room(nexthop, NULL, "3"), "");
	assert_string_equal(log_room(nexthop, "many\n", NULL), "");
	assert_non_null(strstr(log_room(nexthop, "3\n", "3\n"),
		"warning: next hops: the routes lead to 3 ipv4 neighbours, but the kernel keeps at most 3 entries"));
	assert_non_null(strstr(log_room(nexthop, "3\n", "1\n"),
		"2 ipv6 neighbours, but the kernel keeps at most 1 entries, so it cannot resolve them all: raise net.ipv6."));
	assert_string_equal(log_room(nexthop, "3\n", "1\n"), "");
	neighbours_free(&nexthop->neighbours);
	free(nexthop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_too_many_neighbours_for_the_kernel_are_a_warning)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
