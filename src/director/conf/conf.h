/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * director.conf in libconfig syntax (keys: docs/reference/director-conf.md), read once into plain data. Nothing changes
 * a struct conf after conf_read(); it is passed on as const.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/endpoint.h"
#include "common/faults.h"
#include "common/netaddr.h"
#include "conf/conf_key.h"
#include "packet/steering.h"
#include "program/statsd/statsd.h"

#define CONF_MAX_FLOW_PATHS  256
#define CONF_MAX_LCORES      128
#define CONF_MAX_PORTS       32
#define CONF_INTERFACE_SIZE  16 /* IF_NAMESIZE */
#define CONF_PATH_SIZE       256
#define CONF_MAX_DESCRIPTORS 32768 /* of a queue */
#define CONF_MAX_EXCEPTIONS  10000000 /* a second */
#define CONF_MAX_VLAN        4094 /* 4095 is reserved (IEEE 802.1Q) */

enum conf_exception_path {
	CONF_EXCEPTION_NONE,
	CONF_EXCEPTION_TAP,
	CONF_EXCEPTION_VIRTIO_USER,
};

/* Packets a second that may go to the exception path, over all lcores. */
struct conf_exception_limits {
	unsigned control, other;
};

enum conf_idle {
	CONF_IDLE_POLL,
	CONF_IDLE_SLEEP,
};

/* After CONF_ISA_AUTO, in the order of enum isa. */
enum conf_isa {
	CONF_ISA_AUTO,
	CONF_ISA_SCALAR,
	CONF_ISA_AVX2,
	CONF_ISA_AVX512,
};

enum conf_rss_fields {
	CONF_RSS_ADDRESSES,
	CONF_RSS_ADDRESSES_AND_PORTS,
};

struct conf_flow_path {
	uint16_t rx_port, rx_queue, tx_port, tx_queue;
};

/* A group of `lcores`. Run to completion: rx and tx. Distributor: rx, tx and dist. Worker of a distributor: work. */
struct conf_lcore {
	uint16_t id; /* DPDK lcore id, from the group's name lcore-N */
	bool rx, tx, dist, work;
	uint16_t num_dist_workers;
	uint16_t work_source; /* lcore id of the worker's distributor */
	uint16_t flow_path_count;
	uint16_t flow_paths[CONF_MAX_FLOW_PATHS]; /* indices into conf.flow_paths */
};

struct conf {
	bool gateway_auto; /* outbound_gateway_mac = "auto" */
	uint8_t gateway_mac[6]; /* if not gateway_auto */
	uint32_t outbound_src_ip; /* network order; 0: none */
	uint8_t outbound_src_ip6[16]; /* network order; zeros: none. At least one of the two is set */
	char outbound_vrf[CONF_INTERFACE_SIZE]; /* "": none */
	uint16_t port_interface_count; /* 0: all ports use the same next hops */
	char port_interfaces[CONF_MAX_PORTS][CONF_INTERFACE_SIZE]; /* the kernel's interface of each DPDK port */
	/* Its exception_path is set if exception_path below is not CONF_EXCEPTION_NONE */
	struct steering_config steering;
	enum conf_exception_path exception_path;
	struct conf_exception_limits exception_limits;
	enum conf_idle idle;
	enum conf_isa isa;
	uint16_t stop_delay_ms; /* how long packets are still forwarded after SIGTERM */
	bool rx_drop_en;
	uint16_t rx_descriptors, tx_descriptors; /* for each queue */
	unsigned mbufs; /* frame buffers of each port; 0: as many as the queues need */
	enum conf_rss_fields rss_fields;
	struct endpoint metrics; /* where the director serves HTTP; without a port: it does not */
	char fleet_status[CONF_PATH_SIZE]; /* status_file of glb-fleet, for the page */
	struct statsd_config statsd;
	uint16_t max_shrink; /* percent, see table/table_guard.h */
	uint16_t num_worker_queues; /* queue pairs per port; 0: as many as there are workers */
	uint16_t flow_path_count;
	struct conf_flow_path flow_paths[CONF_MAX_FLOW_PATHS];
	uint16_t lcore_count; /* 0: every worker lcore polls its own queue of every port */
	struct conf_lcore lcores[CONF_MAX_LCORES];
};

/*
 * Reads and validates the file `path`. Adds all faults with their line and key, for example "FILE:12:
 * lcores.lcore-1.flow_paths[0]: ...", where FILE is faults->file. 0, or -EINVAL: faults has errors, or another -errno:
 * the file cannot be read, and faults has an error that says so. *conf is valid only after 0. It owns no memory.
 */
int conf_read(const char *path, struct conf *conf, struct faults *faults);

/* Returns the source address of GUE packets to backends of this family. Its family is NETADDR_NONE if there is none. */
struct netaddr conf_outbound_source(const struct conf *conf, enum netaddr_family family);

/* The keys of director.conf. */
extern const struct conf_key conf_keys[];
