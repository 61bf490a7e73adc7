/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * director.conf, read once (libconfig syntax; keys in docs/reference/director-conf.md). Plain data:
 * a value is not changed after conf_read(), and is passed on as const.
 */
#ifndef GLB_DIRECTOR_CONF_H
#define GLB_DIRECTOR_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/faults.h"
#include "packet/steering.h"

#define CONF_MAX_FLOW_PATHS 256
#define CONF_MAX_LCORES     128

enum conf_exception_path {
	CONF_EXCEPTION_NONE,
	CONF_EXCEPTION_TAP,
	CONF_EXCEPTION_VIRTIO_USER,
};

enum conf_idle {
	CONF_IDLE_POLL,
	CONF_IDLE_SLEEP,
};

struct conf_flow_path {
	uint16_t rx_port, rx_queue, tx_port, tx_queue;
};

/* Run to completion: rx and tx. Distributor: rx, tx and dist, for its workers. Worker: work. */
struct conf_lcore {
	uint16_t id; /* DPDK lcore, from the group's name lcore-N */
	bool rx, tx, dist, work;
	uint16_t num_dist_workers;
	uint16_t work_source; /* lcore id of the worker's distributor */
	uint16_t flow_path_count;
	uint16_t flow_paths[CONF_MAX_FLOW_PATHS]; /* indices into conf.flow_paths */
};

struct conf {
	bool gateway_auto; /* outbound_gateway_mac = "auto" */
	uint8_t gateway_mac[6]; /* otherwise */
	uint32_t outbound_src_ip; /* network order */
	struct steering_config steering; /* exception_path in it follows exception_path below */
	enum conf_exception_path exception_path;
	enum conf_idle idle;
	bool rx_drop_en;
	uint16_t num_worker_queues; /* queue pairs a port; 0: as many as there are workers */
	uint16_t flow_path_count;
	struct conf_flow_path flow_paths[CONF_MAX_FLOW_PATHS];
	uint16_t lcore_count; /* 0: every worker lcore polls its own queue of every port */
	struct conf_lcore lcores[CONF_MAX_LCORES];
};

/*
 * Reads and validates `path`, collecting all faults by line and key: "FILE:12:
 * lcores.lcore-1.flow_paths[0]: ...", with faults->file for FILE. 0; or -EINVAL: the faults have
 * errors; or other -errno: could not be read, an error says so. *conf is valid only with 0; it owns
 * no memory.
 */
int conf_read(const char *path, struct conf *conf, struct faults *faults);

/* "02:00:5e:10:00:01"; false leaves mac[] undefined. */
bool conf_parse_mac(const char *text, uint8_t mac[6]);

#endif
