/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The backends that packets go to, each with the next hops of its route from each port. Control thread only, or under
 * the lock of struct nexthop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "director/nexthop/neighbours.h"
#include "packet/next_hops.h"
#include "packet/routes.h"

struct hop_link {
	struct neighbour *neighbour;
	uint32_t weight;
};

/* The route from one port to one destination. */
struct path {
	bool done; /* it was looked up */
	bool logged; /* the log says that it has no next hop */
	const char *why; /* why `count` is 0, a constant; NULL: count is not 0, or it was not looked up */
	uint32_t count;
	struct hop_link *links; /* malloc'd; no neighbour occurs twice */
};

struct destinations {
	uint32_t count, ports;
	struct netaddr *addresses; /* ascending, see netaddr_compare() */
	struct path *paths; /* [destination * ports + port] */
};

/*
 * Replaces the destinations by the backends that can be first in a row of `routes` and, if `keep`, those from before.
 * What was looked up stays. False: out of memory, and nothing changed.
 */
bool destinations_follow(struct destinations *destinations, const struct routes *routes, bool keep);
void destinations_free(struct destinations *destinations);

/* Returns the path from a port to an address, or NULL. */
struct path *destinations_path(const struct destinations *destinations, const struct netaddr *address, uint32_t port);

/* Sorts the links, because the kernel's order of the next hops of an IPv6 route is not always the same. */
void path_sort(struct hop_link *links, uint32_t count);

/* Replaces the links of a path, which are sorted, and takes over the array. Returns whether they differ from before. */
bool path_replace(struct path *path, struct hop_link *links, uint32_t count, const char *why);

/* Returns whether a next hop of the path has a MAC. */
bool path_is_usable(const struct path *path);

/* Returns the neighbour that packets with this outer source port (host order) go to. NULL: none is reachable, or out of
 * memory. */
const struct neighbour *path_choose(const struct path *path, uint16_t source_port);

/* Returns the set of a port for these routes; the caller frees it. NULL: out of memory. */
struct next_hops *destinations_build(const struct destinations *destinations, const struct routes *routes, uint32_t port);
