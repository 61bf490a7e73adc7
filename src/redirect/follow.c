/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The attached programs know the addresses of this host from lists. This subcommand rewrites the lists when the kernel
 * reports a change. If it ends, the programs go on with the last lists.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <libmnl/libmnl.h>

#include "program/log.h"
#include "program/service.h"
#include "redirect/allow.h"
#include "redirect/explain.h"
#include "redirect/loader.h"
#include "redirect/kernel/pins.h"

#define SETTLE_MS 20 /* a change has several messages, such as a link, its addresses and their routes */
#define RETRY_MS  1000

/*
 * Lets only routes of type local through, and all messages about links: a host may have a million other routes. The
 * kernel reports a local route for each address that is added.
 */
static int filter_routes(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, 2),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, NLMSG_HDRLEN + offsetof(struct rtmsg, rtm_type)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RTN_LOCAL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Returns a socket that becomes readable when an address or a link changes, or NULL with errno. */
static struct mnl_socket *subscribe(void)
{
	static const int groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	bool done = socket && filter_routes(mnl_socket_get_fd(socket)) == 0 &&
		    mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) == 0;

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]) && done; i++)
		done = mnl_socket_setsockopt(socket, NETLINK_ADD_MEMBERSHIP, (void *)&groups[i], sizeof(groups[i])) == 0;
	if (done || !socket)
		return socket;
	mnl_socket_close(socket);
	return NULL;
}

static int update(const char *interface, void *data)
{
	struct pins_location location;
	bool *failed = data;
	struct pins pins;
	int error = pins_open(interface, &pins);

	if (error)
		return 0; /* status tells why */
	error = pins_locate(interface, &pins, &location);
	if (!error && pins.lists.generation >= 0 && (location.place == PINS_HERE || location.place == PINS_RENAMED))
		error = allow_update(&pins.lists, pins.link_ifindex);
	pins_close(&pins);
	if (error)
		log_limited(LOG_LEVEL_ERROR,
			"%s: cannot update the addresses of this host, so packets for new ones are refused: %s",
			interface, strerror(-error));
	*failed |= error != 0;
	return 0; /* continue with the other interfaces */
}

/* Returns false if it must be tried again. */
static bool update_all(void)
{
	bool failed = false;

	loader_lock();
	pins_for_each(update, &failed);
	loader_unlock();
	return !failed;
}

/* Reads all messages that wait. Their content does not matter, nor does it matter that some were lost (ENOBUFS). */
static void drain(struct mnl_socket *socket)
{
	char buffer[8192];

	while (mnl_socket_recvfrom(socket, buffer, sizeof(buffer)) >= 0 || errno == ENOBUFS || errno == ENOSPC)
		;
}

static int follow(const struct command_args *)
{
	struct mnl_socket *socket;
	int lock = pins_lock_follower();

	log_open("glb-redirect", false);
	if (lock == -EWOULDBLOCK)
		return command_error("glb-redirect follow runs already in this network namespace");
	if (lock < 0)
		return explain_folder(NULL, lock);
	socket = subscribe();
	if (!socket)
		return command_error("cannot watch the addresses of this host: %s", strerror(errno));
	for (bool first = true;; first = false) {
		struct pollfd event = {.fd = mnl_socket_get_fd(socket), .events = POLLIN};
		bool done = update_all();

		if (first)
			service_ready();
		poll(&event, 1, done ? -1 : RETRY_MS);
		nanosleep(&(struct timespec){.tv_nsec = SETTLE_MS * 1000000}, NULL);
		drain(socket);
	}
}

const struct command follow_command = {
	.name = "follow",
	.run = follow,
	.summary = "Tell the attached programs about new addresses of this host, until interrupted",
	.options = COMMAND_NO_OPTIONS,
};
