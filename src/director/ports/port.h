/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK ports: probed, set up with the queues of the plan, started and closed. The main thread calls the functions;
 * later the thread of port_recovery sets a port up again after a reset (port_recovery.h). Any thread may read a port
 * that runs. Members marked as atomic may change meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "director/conf/conf.h"
#include "director/ports/link.h"
#include "worker/idle.h"

#define PORT_MAX_QUEUES         256 /* receive queues per port; also transmit queues per port */
#define PORT_KERNEL_DRIVER_SIZE 32

enum port_state {
	PORT_RUNNING, /* also a port that is not used */
	PORT_RECOVERING, /* the driver recovers it, and passes no packets; nobody may call the driver */
	PORT_RESETTING, /* no worker uses it; it waits for a reset, or is being reset */
	PORT_REMOVING, /* it is gone, and will be closed */
	PORT_REMOVED, /* closed, until the device is back */
};

struct port {
	uint16_t id; /* DPDK port id */
	char name[RTE_ETH_NAME_MAX_LEN];
	struct rte_eth_dev_info info; /* since the device was attached, but `device` is NULL while it is removed */
	char device_name[RTE_ETH_NAME_MAX_LEN]; /* on DPDK's bus */
	char device_arguments[256]; /* its name and options, as EAL has got them */
	char kernel_driver[PORT_KERNEL_DRIVER_SIZE]; /* of a PCI device at start; otherwise "" */
	struct rte_ether_addr mac; /* at start */
	/* Atomic. The MAC as admission_mac() returns it. The control thread follows its changes
	 * (port_macs_follow()). */
	uint64_t mac_number;
	/*
	 * Before port_setup(): frames of this MTU must fit. Later it is atomic, and the control thread changes it
	 * (exception_follow()).
	 */
	uint16_t mtu;
	uint16_t rx_queues, tx_queues;
	bool forwards; /* as in struct plan_port */
	uint16_t rx_descriptors, tx_descriptors; /* per queue */
	bool rx_interrupts; /* the card has receive interrupts, and director.conf says that lcores sleep */
	struct idle_source rx_sources[PORT_MAX_QUEUES];
	int multicast_socket; /* through which the kernel is asked for all multicast; 0: it is not */
	bool of_exception_path; /* the descriptors and mbufs that director.conf sets are not for this port */
	uint8_t rss_key_size; /* bytes; 0: no key */
	uint8_t rss_key[UINT8_MAX];
	bool rx_segments; /* receives a frame that does not fit into a buffer in several */
	bool tx_segments; /* can transmit mbufs with several segments */
	/* enum port_state; atomic, the control thread changes it, or the thread of port_recovery while that runs */
	uint8_t state;
	/* At the last look of the control thread, see link_load(); down while the port is not running */
	struct link link;
	/* Not before this time the next reset or attempt to attach, in milliseconds of clock_now_ms() */
	uint64_t retry_ms;
	/* As retry_ms, when to reset a port that runs; 0: never; control thread; the thread of port_recovery, if the
	 * port does not run */
	uint64_t reset_due_ms;
	/* From the last return of its link to the reset for that; 0: none was due; control thread */
	uint32_t settle_ms;
	/* From the last attempt, which failed, to the next one; 0: none has failed; thread of port_recovery */
	uint32_t wait_ms;
	bool reset_failed; /* the last one; atomic; the thread of port_recovery writes it and the next two */
	uint8_t quick_resets; /* in a row, each less than a minute after the one before */
	uint64_t reset_ms; /* the last one, as retry_ms */
	uint64_t resets, reset_failures, attaches; /* atomic */
	struct rte_eth_stats stats; /* the last that the driver gave, for view_port_counted() */
	struct rte_mempool *pool; /* for the frames that it receives, and for copies of them */
};

/* Fills the members that are known before the port is set up. 0, or -errno after logging why. */
int port_probe(struct port *port, uint16_t id);

/*
 * Creates the pool and sets up port->rx_queues and port->tx_queues queues. The pool has frames for all queues, for the
 * caches of `lcores` lcores, and `extra` more; or conf->mbufs, if that is more. A port that has a pool keeps it, so
 * that its frames survive a reset. 0, or -errno after logging why and what to do.
 */
int port_setup(struct port *port, const struct conf *conf, uint32_t lcores, uint32_t extra);

/* Returns the most frames that a transmit queue of any port can hold. */
uint32_t port_most_tx_descriptors(const struct conf *conf);

/*
 * Raises the MTU if it is less than conf->outbound_mtu, and starts the port. If its receive interrupts do not work,
 * sets it up again without them. 0, or -errno after logging why.
 */
int port_start(struct port *port, const struct conf *conf);

/* Asks for the MTU that the port has now: the kernel's, if its driver uses a kernel interface. */
uint16_t port_read_mtu(const struct port *port);

/* Returns whether a flow path uses the port. Only then is it started. */
static inline bool port_is_used(const struct port *port)
{
	return port->rx_queues || port->tx_queues;
}

/* Returns whether the driver may be asked about the port. */
static inline bool port_is_running(const struct port *port)
{
	return __atomic_load_n(&port->state, __ATOMIC_RELAXED) == PORT_RUNNING;
}

/*
 * Stops and closes the port. It may have only been probed. Frames that are still queued are lost. The driver may wait
 * for the card for ever (port_watch.h).
 */
void port_close(struct port *port);
