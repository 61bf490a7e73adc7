/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ports of a director, and the ports of its exception path. The main thread fills everything before it starts other
 * threads, and it is read-only from then on, except what the comments of the members say.
 */
#pragma once

#include "director/plan.h"
#include "director/ports/port.h"
#include "director/ports/port_events.h"
#include "director/ports/port_recovery.h"

struct worker_shared;

struct ports {
	const struct conf *conf; /* borrowed */
	struct worker_shared *shared; /* borrowed; workers stop using a port before it is reset */
	uint16_t count;
	struct port list[PLAN_MAX_PORTS];

	/* The exception path: ports to the kernel. exceptions[i] belongs to list[i], and is empty if list[i] does not
	 * receive. */
	struct port exceptions[PLAN_MAX_PORTS];
	uint16_t exception_count; /* of exceptions[]; 0: there is no exception path */

	struct port_events events[PLAN_MAX_PORTS]; /* of list[] */
	int wake; /* eventfd, written when a port has events, and when port_recovery has finished; -1: not open */
	struct port_recovery recovery;
	pthread_mutex_t lock; /* held to change port.state, and by other threads while they read a device */
};

/* Returns the port with this DPDK port id, which must exist. */
const struct port *ports_find(const struct ports *ports, uint16_t id);

/* Returns the port of the exception path that belongs to the port with this DPDK port id. NULL: there is no exception
 * path. */
const struct port *ports_exception(const struct ports *ports, uint16_t id);
