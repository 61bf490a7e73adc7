/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ports of DPDK that packets arrive at and leave by: looked at, set up with the queues that the
 * plan wants, started. Main thread only; once started a port is read-only and any thread may read
 * it.
 */
#ifndef GLB_DIRECTOR_PORT_H
#define GLB_DIRECTOR_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "director/conf.h"

#define PORT_MAX_DESCRIPTORS 2048 /* of a queue */
#define PORT_MAX_QUEUES      256 /* of each kind */

struct port {
	uint16_t id;
	char name[RTE_ETH_NAME_MAX_LEN];
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	uint16_t mtu;
	uint16_t rx_queues, tx_queues;
	uint16_t rx_descriptors, tx_descriptors; /* of each queue */
	int rx_descriptor[PORT_MAX_QUEUES]; /* ready when a queue has packets; -1: none */
	bool tx_segments; /* takes frames in several segments */
	struct rte_mempool *pool; /* its frames, and copies of them */
};

/* Fills what is known before the port is set up. 0, or -errno after logging why. */
int port_probe(struct port *port, uint16_t id);

/*
 * Creates the pool, with room for `extra` frames outside of queues and of `lcores` caches, and sets
 * up port->rx_queues and tx_queues. 0, or -errno after logging why, and what to do.
 */
int port_setup(struct port *port, const struct conf *conf, uint32_t lcores, uint32_t extra);

/* Starts, and raises the MTU where conf->outbound_mtu needs it. 0, or -errno after logging why. */
int port_start(struct port *port, const struct conf *conf);

/* The file descriptor that is ready when an rx queue has packets, or -1. */
static inline int port_rx_descriptor(const struct port *port, uint16_t queue)
{
	return port->rx_descriptor[queue];
}

/* Stops and closes; safe for a port that only was probed. Frames still queued are lost. */
void port_close(struct port *port);

#endif
