/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole director: what main makes and all its threads share. Who writes a member is said at
 * each. */
#ifndef GLB_DIRECTOR_DIRECTOR_H
#define GLB_DIRECTOR_DIRECTOR_H

#include <stdint.h>

#include "director/conf.h"
#include "director/control/reload.h"
#include "director/options.h"
#include "director/plan.h"
#include "director/port.h"
#include "packet/lanes/lanes.h"
#include "worker/worker_shared.h"

struct worker;

struct director {
	/* Main, before other threads start; then read-only. */
	struct options options;
	struct conf conf;
	struct plan plan;
	uint16_t port_count;
	struct port ports[PLAN_MAX_PORTS];
	struct port exceptions[PLAN_MAX_PORTS]; /* of each port that receives, where the configuration
					       wants them */
	uint16_t exception_count;
	uint16_t worker_count;
	struct worker *workers[PLAN_MAX_LCORES]; /* those of plan.lcores */
	enum isa packet_isa; /* of the fast path of all workers */
	uint64_t started_ns; /* CLOCK_MONOTONIC */

	struct reload reload;
	struct worker_shared shared;
};

/* By its id of DPDK; it must be one of them. */
const struct port *director_port(const struct director *director, uint16_t id);

/* What belongs to the port with this id; NULL: there is no exception path. */
const struct port *director_exception_port(const struct director *director, uint16_t id);

#endif
