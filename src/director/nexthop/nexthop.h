/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outbound_gateway_mac = "auto": finds the next hops of every backend that packets go to, as the kernel routes them,
 * and follows routes, neighbours and links (docs/reference/next-hops.md). The control thread calls all functions but
 * those after struct nexthop_summary, which any thread may call.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "director/nexthop/neighbours.h"
#include "packet/next_hops.h"
#include "packet/routes.h"

#define NEXTHOP_MAX_PORTS 32

struct nexthop;

struct nexthop_config {
	struct netaddr sources[2]; /* outbound_src_ip and outbound_src_ip6; NETADDR_NONE: not configured */
	char vrf[IF_NAMESIZE]; /* outbound_vrf; "": none */
	uint32_t port_count; /* of `interfaces`; 0: all ports share one set, and the routes may use any interface */
	char interfaces[NEXTHOP_MAX_PORTS][IF_NAMESIZE]; /* port_interfaces */
	/* Called by nexthop_step() when nexthop_build() has another result than before. */
	void (*changed)(void *context);
	void *context;
};

/* NULL after logging why, for example because an interface does not exist. */
struct nexthop *nexthop_open(const struct nexthop_config *config);
void nexthop_close(struct nexthop *nexthop);

/* Returns a file descriptor that is readable about ten times a second. Then the caller calls nexthop_step(). */
int nexthop_descriptor(const struct nexthop *nexthop);

/*
 * Takes what the kernel has reported since the last call, and does what is due. It takes a few tens of milliseconds at
 * most; what takes longer goes on in the next call. Returns whether config.changed() was called.
 */
bool nexthop_step(struct nexthop *nexthop);

/* Adds the backends of a table that is not in use yet. nexthop_step() resolves them. */
void nexthop_prepare(struct nexthop *nexthop, const struct routes *routes);

/* Returns whether the next hops of all backends are resolved, or do not reply. */
bool nexthop_is_settled(struct nexthop *nexthop);

/* Sets the table in use. Forgets the backends that it does not have. */
void nexthop_follow(struct nexthop *nexthop, const struct routes *routes);

/* Returns the set of a port, an index in `interfaces`. NULL: out of memory. The caller frees it. */
struct next_hops *nexthop_build(struct nexthop *nexthop, const struct routes *routes, uint32_t port);

/* The next hops of one port, in numbers. */
struct nexthop_summary {
	/* Adds 1 for each change of the members below or of an item of the lists, except state, age and reason */
	uint64_t version;
	/* Backends that packets go to; those of them without a reachable next hop */
	uint32_t backends, backends_without;
	uint32_t next_hops, unreachable; /* all, and those without a MAC to send to */
	uint32_t states[NEIGHBOUR_STATES]; /* those in each state of neighbour_states */
	char lost[46]; /* address of one that is unreachable, or "" */
	char mac[18]; /* of the only one with a MAC; "unknown": there is none; "several" */
};

struct nexthop_item {
	char address[46], interface[IF_NAMESIZE], mac[18]; /* interface "": it was removed; mac "unknown": none */
	const char *state; /* a constant, see docs/reference/telemetry.md */
	uint32_t age_s; /* since the MAC was found or lost, in seconds */
	uint32_t backends; /* with a route through this next hop */
};

struct nexthop_orphan {
	char address[NETADDR_TEXT_MAX]; /* of the backend */
	const char *why; /* a constant */
};

/*
 * Describes the next hop of packets from this port to a backend, with this outer source port (host order). Its member
 * `backends` is 0. Returns false if no next hop is reachable, and then the packets are dropped.
 */
bool nexthop_find(struct nexthop *nexthop, uint32_t port, const struct netaddr *backend, uint16_t source_port,
	struct nexthop_item *item);

struct nexthop_summary nexthop_summary(struct nexthop *nexthop, uint32_t port);

/* Copy up to `max` items from index `first` on, and return how many there are. orphans: backends without a reachable
 * next hop. */
uint32_t nexthop_list(struct nexthop *nexthop, uint32_t port, uint32_t first, struct nexthop_item *items, uint32_t max);
uint32_t nexthop_list_orphans(
	struct nexthop *nexthop, uint32_t port, uint32_t first, struct nexthop_orphan *orphans, uint32_t max);
