/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the kernel by rtnetlink for routes, neighbour entries and links: one request and its reply at a time. One
 * thread. kernel: a socket of NETLINK_ROUTE.
 */
#pragma once

#include "program/netlink/netlink.h"
#include "program/netlink/rtnetlink.h"

/* Opens a socket that receives a message for each change that may affect a next hop. NULL: errno says why. */
struct mnl_socket *kernel_open_events(void);

/*
 * Looks up the route from `source` (NETADDR_NONE: any) to `destination`. interface: index of a VRF, or of the interface
 * that the route should use; 0: any. A source that is no address of this host is ignored. 0, or -errno: there is no
 * route. route->object is 0: nexthop objects are replaced by their next hops.
 */
int kernel_route(struct netlink *kernel, const struct netaddr *source, const struct netaddr *destination,
	uint32_t interface, struct route *route);

/* Returns whether an error of the functions here says nothing about the route or the neighbour, only about
 * the request. */
bool kernel_error_is_temporary(int error);

/* Reads a neighbour entry. 0, or -errno: the kernel has no entry. */
int kernel_neighbour(struct netlink *kernel, const struct neighbour_key *key, struct neighbour_entry *entry);

/* Makes the kernel resolve or confirm a neighbour. The result arrives as an event. */
void kernel_probe(struct netlink *kernel, const struct neighbour_key *key);

/* Reads a link. 0, or -errno: there is none. */
int kernel_link(struct netlink *kernel, uint32_t interface, struct net_link *link);
