/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests to the kernel by netlink. Each blocks for microseconds, a dump for milliseconds, and a second at most if the
 * kernel does not reply. One thread for each struct netlink. */
#pragma once

#include <libmnl/libmnl.h>

#define NETLINK_MAX 32768 /* bytes; the kernel sends no more at once */

struct netlink {
	struct mnl_socket *socket;
	uint32_t sequence;
};

/* Opens a socket of `bus`, such as NETLINK_ROUTE. 0, or -errno. The caller calls netlink_close() in any case. */
int netlink_open(struct netlink *netlink, int bus);
void netlink_close(struct netlink *netlink);

/*
 * Starts a request in `buf`. flags: NLM_F_DUMP for all objects of a kind, else 0 or those of a change. Sets *header to
 * the header of the type, which is zero.
 */
struct nlmsghdr *netlink_begin(char buf[NETLINK_MAX], uint16_t type, uint16_t flags, size_t header_size, void **header);

/* Sends a request about one object. 0, and the reply, if there is one, has taken the place of the request in its
 * buffer; or -errno. */
int netlink_get(struct netlink *netlink, struct nlmsghdr *message);

/*
 * Sends a request with NLM_F_DUMP on a new socket of `bus`, and calls `each` for every message of the reply. A dump
 * that was changed by another process is repeated, so `each` can see an object twice. Returns 0 or -errno.
 */
int netlink_dump(int bus, struct nlmsghdr *message, mnl_cb_t each, void *data);
