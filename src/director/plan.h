/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan: which lcore polls which queue. It follows from EAL's lcores, from the queues of the ports, and from the
 * configuration: its `lcores` and `flow_paths`, or by default a queue pair of every port for every worker lcore. It is
 * made once, before the ports are set up. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/faults.h"
#include "director/conf/conf.h"

#define PLAN_MAX_PORTS  32
#define PLAN_MAX_LCORES CONF_MAX_LCORES
#define PLAN_MAX_PATHS  1024
#define PLAN_HAND_BACK  UINT16_MAX /* as tx_queue: the packets go back to the distributor, which transmits them */

struct plan_port {
	uint16_t id; /* DPDK port id */
	uint16_t max_rx_queues, max_tx_queues; /* of the device */
	bool fills_one_queue; /* all packets arrive in its first receive queue */
	/* plan_make() fills these */
	uint16_t rx_queues, tx_queues; /* the number to set up */
	bool forwards; /* the director sends packets to backends on it */
};

enum plan_kind {
	PLAN_DIRECT, /* receives, steers and transmits (run to completion) */
	PLAN_DISTRIBUTE, /* receives and distributes packets to the PLAN_WORK paths that name it as their source */
	PLAN_WORK, /* steers the packets that a distributor sends to it */
};

struct plan_flow_path {
	uint16_t lcore; /* DPDK lcore id */
	uint8_t kind; /* enum plan_kind */
	uint16_t rx_port, rx_queue; /* for PLAN_WORK: those of the distributor */
	uint16_t tx_port, tx_queue; /* for PLAN_WORK, tx_queue may be PLAN_HAND_BACK */
	uint16_t return_queue; /* transmit queue of rx_port for packets from the exception path */
	uint16_t source; /* for PLAN_WORK: index in paths[] of its PLAN_DISTRIBUTE path */
};

struct plan {
	uint16_t port_count, path_count, lcore_count;
	struct plan_port ports[PLAN_MAX_PORTS];
	uint16_t lcores[PLAN_MAX_LCORES]; /* lcores with at least one path */
	struct plan_flow_path paths[PLAN_MAX_PATHS]; /* an lcore serves its paths in this order */
};

/*
 * The caller has filled plan->port_count and, for each port, the members up to fills_one_queue. plan_make() fills the
 * rest. lcores: the ids of the lcores that may get work. 0, or -EINVAL with errors in faults, for example if the
 * configuration names a port or lcore that does not exist, or there are too few queues.
 */
int plan_make(struct plan *plan, const struct conf *conf, const uint16_t *lcores, uint16_t lcore_count,
	struct faults *faults);
