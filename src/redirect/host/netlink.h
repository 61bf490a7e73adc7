/* SPDX-License-Identifier: BSD-3-Clause */
/* One request to the kernel by netlink, and all parts of its reply. Blocks for milliseconds. One thread. */
#ifndef GLB_REDIRECT_NETLINK_H
#define GLB_REDIRECT_NETLINK_H

#include <libmnl/libmnl.h>

#define NETLINK_REQUEST_MAX 256 /* bytes */

/*
 * Starts a request in `buf`. flags: NLM_F_DUMP for all objects of a kind, 0 for one object. Sets *header to the header
 * of the type, which is zero.
 */
struct nlmsghdr *netlink_begin(
	char buf[NETLINK_REQUEST_MAX], uint16_t type, uint16_t flags, size_t header_size, void **header);

/*
 * Sends the request on a new socket of `bus`, such as NETLINK_ROUTE, and calls `each` for every message of the reply. A
 * dump that was changed by another process is repeated, so `each` can see an object twice. Returns 0 or -errno.
 */
int netlink_request(int bus, struct nlmsghdr *message, mnl_cb_t each, void *data);

#endif
