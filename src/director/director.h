/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole director: what main makes and all its threads share. Who writes a member is said at
 * each. */
#ifndef GLB_DIRECTOR_DIRECTOR_H
#define GLB_DIRECTOR_DIRECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "director/conf.h"
#include "director/control/reload.h"
#include "director/options.h"
#include "director/plan.h"
#include "director/port.h"
#include "packet/lanes/lanes.h"

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

	struct reload reload; /* see there */

	/* The gateway's MAC in the low 48 bits, its first byte lowest; 0: not known. The control
	 * thread writes it. */
	uint64_t gateway_mac;
	bool stop; /* the control thread sets it, once */
};

static inline bool director_stopping(const struct director *director)
{
	return __atomic_load_n(&director->stop, __ATOMIC_RELAXED);
}

/* By its id of DPDK; it must be one of them. */
const struct port *director_port(const struct director *director, uint16_t id);

/* What belongs to the port with this id; NULL: there is no exception path. */
const struct port *director_exception_port(const struct director *director, uint16_t id);

#endif
