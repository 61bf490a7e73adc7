/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which lcore polls which queue: from lcores, what the ports offer and the configuration, either
 * its own lcores and flow_paths, or by default a queue pair of every port for every worker. Pure:
 * made once, before the ports are set up.
 */
#ifndef GLB_DIRECTOR_PLAN_H
#define GLB_DIRECTOR_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/faults.h"
#include "director/conf.h"

#define PLAN_MAX_PORTS  32
#define PLAN_MAX_LCORES CONF_MAX_LCORES
#define PLAN_MAX_PATHS  1024
#define PLAN_HAND_BACK  UINT16_MAX /* no queue of its own: the distributor transmits */

struct plan_port {
	uint16_t id; /* of DPDK */
	uint16_t max_rx_queues, max_tx_queues;
	uint16_t rx_queues, tx_queues; /* result: to be set up */
};

enum plan_kind {
	PLAN_DIRECT, /* receives, steers, transmits: run to completion */
	PLAN_DISTRIBUTE, /* receives and hands packets to the PLAN_WORK paths that name it */
	PLAN_WORK, /* steers what a distributor hands over */
};

struct plan_flow_path {
	uint16_t lcore;
	uint8_t kind; /* enum plan_kind */
	uint16_t rx_port, rx_queue; /* where the packets came from, also for PLAN_WORK */
	uint16_t tx_port, tx_queue; /* tx_queue of PLAN_WORK may be PLAN_HAND_BACK */
	uint16_t return_queue; /* of rx_port, to transmit what the exception path sends */
	uint16_t source; /* PLAN_WORK: the index of its PLAN_DISTRIBUTE path */
};

struct plan {
	uint16_t port_count, path_count, lcore_count;
	struct plan_port ports[PLAN_MAX_PORTS];
	uint16_t lcores[PLAN_MAX_LCORES]; /* those that have work */
	struct plan_flow_path paths[PLAN_MAX_PATHS]; /* in the order in which an lcore takes its own */
};

/*
 * plan->ports and port_count are given, the rest is filled. lcores: those that may work. 0, or
 * -EINVAL with an error in faults that says what is missing, or what the configuration asks of a
 * port or lcore that does not exist.
 */
int plan_make(struct plan *plan, const struct conf *conf, const uint16_t *lcores, uint16_t lcore_count,
	struct faults *faults);

#endif
