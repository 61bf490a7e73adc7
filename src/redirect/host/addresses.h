/* SPDX-License-Identifier: BSD-3-Clause */
/* The IP addresses of this host, and its default routes. Plain data; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"

struct address {
	struct netaddr address;
	uint8_t prefix_length;
	uint32_t link; /* index of its interface */
	bool unusable; /* IPv6: another host has it, too, or the kernel still checks this */
};

struct addresses {
	struct address *items;
	size_t count;
};

/* Returns 0 or -errno. The caller calls addresses_free() in either case. */
int addresses_read(struct addresses *addresses);
void addresses_free(struct addresses *addresses);

/* Returns the first address that the prefix covers, or NULL. */
const struct address *addresses_within(const struct addresses *addresses, const struct netprefix *prefix);

/* Returns whether the kernel would deliver packets for this address to this host, also without an address (AnyIP). */
bool addresses_is_local(const struct netaddr *address);

/* Returns the MTU that the route to this address sets, or that the kernel learnt of its path; 0: that of the
 * interface. */
uint32_t addresses_route_mtu(const struct netaddr *address);

#define DEFAULT_ROUTES_MAX 16

/* A next hop of a default route. */
struct default_route {
	uint8_t family; /* enum netaddr_family */
	bool main; /* in the main table; others are for rules, VRFs */
	uint32_t link; /* index of the interface */
	uint32_t mtu, advmss; /* bytes; 0: not set */
};

/* Returns the number of next hops, at most DEFAULT_ROUTES_MAX, or -errno. */
int addresses_default_routes(struct default_route routes[DEFAULT_ROUTES_MAX]);
