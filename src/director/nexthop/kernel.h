/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the kernel by rtnetlink for routes, neighbour entries and links: one request and its reply at a time. A request
 * takes microseconds; if the kernel does not reply at all, it fails after a second. Addresses in network order. One
 * thread.
 */
#ifndef GLB_DIRECTOR_NEXTHOP_KERNEL_H
#define GLB_DIRECTOR_NEXTHOP_KERNEL_H

#include <libmnl/libmnl.h>

#include "director/nexthop/message.h"

struct kernel {
	struct mnl_socket *socket;
	uint32_t sequence;
};

/* 0, or -errno. The caller calls kernel_close() in any case. */
int kernel_open(struct kernel *kernel);
void kernel_close(struct kernel *kernel);

/* Opens a socket that receives a message for each change that may affect a next hop. NULL: errno says why. */
struct mnl_socket *kernel_open_events(void);

/*
 * Looks up the route from `source` (0: any) to `destination`. interface: index of a VRF, or of the interface that the
 * route must use; 0: any. A source that is no address of this host is ignored. 0, or -errno: there is no route.
 * route->object is 0: nexthop objects are replaced by their next hops.
 */
int kernel_route(struct kernel *kernel, uint32_t source, uint32_t destination, uint32_t interface, struct route *route);

/* Returns whether an error of the functions here says nothing about the route or the neighbour, only about
 * the request. */
bool kernel_error_is_temporary(int error);

/* Reads a neighbour entry. 0, or -errno: the kernel has no entry. */
int kernel_neighbour(struct kernel *kernel, const struct neighbour_key *key, struct neighbour_entry *entry);

/* Makes the kernel resolve or confirm a neighbour. The result arrives as an event. */
void kernel_probe(struct kernel *kernel, const struct neighbour_key *key);

/* Reads a link. 0, or -errno: there is none. */
int kernel_link(struct kernel *kernel, uint32_t interface, struct link_message *link);

#endif
