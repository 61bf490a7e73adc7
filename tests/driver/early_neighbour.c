/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD: runs the command in EARLY_NEIGHBOUR just before the program asks the kernel to resolve a neighbour. With
 * FAILING_READS, so many first questions about a neighbour fail.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t to_size)
{
	ssize_t (*next)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "sendto");
	const char *command = getenv("EARLY_NEIGHBOUR"), *failing = getenv("FAILING_READS");
	static int reads;
	struct nlmsghdr head = {0};

	if (to && to->sa_family == AF_NETLINK && size >= sizeof(head))
		memcpy(&head, data, sizeof(head));
	if (head.nlmsg_type == RTM_GETNEIGH && !(head.nlmsg_flags & NLM_F_DUMP) && failing && reads++ < atoi(failing)) {
		errno = ENOBUFS;
		return -1;
	}
	if (head.nlmsg_type == RTM_NEWNEIGH && command && system(command) == 0)
		unsetenv("EARLY_NEIGHBOUR");
	return next(fd, data, size, flags, to, to_size);
}
