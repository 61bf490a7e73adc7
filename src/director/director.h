/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The director's state, which all its threads share. There is one, in main.c. The main thread fills it before it starts
 * other threads, and it is read-only from then on. Exceptions: workers write exception_limits, and the comments of the
 * ports and of the members after started_ns name the threads that write them.
 */
#pragma once

#include <stdint.h>

#include "director/conf/conf.h"
#include "director/control/reload.h"
#include "director/control/underlay_report.h"
#include "director/health/health_watch.h"
#include "director/isa/isa_choice.h"
#include "director/options.h"
#include "director/plan.h"
#include "director/ports/port.h"
#include "director/ports/port_events.h"
#include "director/ports/port_recovery.h"
#include "worker/exceptions.h"
#include "worker/worker_shared.h"

struct capture;
struct nexthop;
struct worker;

struct director {
	struct options options;
	struct conf conf;
	struct plan plan;
	uint16_t port_count;
	struct port ports[PLAN_MAX_PORTS];

	/* The exception path: ports to the kernel. exceptions[i] belongs to ports[i], and is empty if ports[i] does not
	 * receive. */
	struct port exceptions[PLAN_MAX_PORTS];
	uint16_t exception_count; /* of exceptions[]; 0: there is no exception path */

	struct exception_limits exception_limits; /* all workers share them */

	uint16_t worker_count;
	struct worker *workers[PLAN_MAX_LCORES]; /* one per lcore of plan.lcores, in the same order */
	struct isa_choice isa; /* of the fast path of all workers */
	uint64_t started_ns; /* CLOCK_MONOTONIC */
	uint64_t started; /* Unix time in seconds */

	/* Finds the next hops; NULL: the MAC is configured. Open as long as the control thread is. */
	struct nexthop *nexthop;
	struct port_events port_events[PLAN_MAX_PORTS]; /* of ports[] */
	int port_wake; /* eventfd, written when a port has events, and when port_recovery has finished; -1: not open */
	struct port_recovery port_recovery;
	pthread_mutex_t ports_lock; /* held to change port.state, and by other threads while they read a device */
	struct capture *capture; /* NULL: packets cannot be captured */
	struct health health; /* the control thread writes it; see health_report_now() */
	struct health_memory memory; /* control thread only */
	struct underlay_report underlay; /* its comments say which thread writes what */
	struct reload reload; /* its comments say which thread writes what */
	struct worker_drain drain;
	struct worker_shared shared; /* the control thread writes it */
};

/* Returns the port with this DPDK port id, which must exist. */
const struct port *director_port(const struct director *director, uint16_t id);

/* Returns the port of the exception path that belongs to the port with this DPDK port id. NULL: there is no exception
 * path. */
const struct port *director_exception_port(const struct director *director, uint16_t id);

/*
 * Logs warnings if the table in use does not fit outbound_src_ip or outbound_mtu. Main thread at the start, then the
 * control thread.
 */
void director_lint_table(const struct director *director);
