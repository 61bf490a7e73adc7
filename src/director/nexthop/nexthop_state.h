/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the resolver, for the files of this folder. */
#pragma once

#include <pthread.h>

#include "director/nexthop/destinations.h"
#include "director/nexthop/kernel.h"
#include "director/nexthop/neighbours.h"
#include "director/nexthop/nexthop.h"

/* An interface that the configuration names. It keeps its index when it is renamed, and is found by its name when it
 * was removed. */
struct named_interface {
	char name[IF_NAMESIZE]; /* as configured; "": none */
	uint32_t index; /* 0: there is none now */
	bool logged_missing;
};

struct nexthop {
	struct nexthop_config config;
	struct netlink kernel;
	struct mnl_socket *events;
	int timer;

	pthread_mutex_t lock; /* protects the members below against readers in other threads */
	struct named_interface vrf, interfaces[NEXTHOP_MAX_PORTS];
	struct destinations destinations;
	struct neighbours neighbours;
	bool changed; /* the sets differ from what config.changed() was told */
	uint64_t version; /* a change of a path, of a MAC to send to, or of the neighbours adds 1 */

	bool failing; /* of a neighbour */
	bool events_lost; /* since the socket was empty last */

	/* A pass looks up all routes again. */
	bool dirty; /* a pass is due, because something may have changed */
	bool passing;
	size_t next; /* index in destinations.paths of the next lookup of the pass */
	uint64_t pass_work_us; /* how long the pass has worked */
	uint64_t pass_not_before_ms;
	uint64_t pass_due_ms; /* then a pass is due without a reason */

	bool room_logged[2]; /* the log says that the kernel has too little room for IPv4, IPv6 neighbours */
	bool log_due; /* something changed that the log may not have yet */
	uint64_t logged_ms; /* when the changes were logged last */
};

/* Logs what has changed since the last call: a line each for a few changes, one line for many. Returns at once if it is
 * too early. */
void nexthop_log(struct nexthop *nexthop, uint64_t now_ms);

/* Logs a warning, once, for each family that has more neighbours than the kernel keeps entries for. */
void nexthop_log_room(struct nexthop *nexthop);
