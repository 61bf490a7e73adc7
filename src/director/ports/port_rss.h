/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RSS: by which packet fields, and with which key, a port spreads the packets to its receive queues. The key is random
 * for each start of the director, and nothing prints it: whoever knows it can aim all packets at one lcore. Main thread
 * only.
 */
#pragma once

#include "director/ports/port.h"

/* Fills the RSS settings of `device` if the port has several receive queues. `device` then refers to port->rss_key. */
void port_rss_fill(struct port *port, const struct conf *conf, struct rte_eth_conf *device);

/*
 * Calls rte_eth_dev_configure(). If the driver refuses the random key, warns and removes the key from `device`, so that
 * the driver uses its own. 0 or -errno.
 */
int port_rss_configure(const struct port *port, struct rte_eth_conf *device);

/* Returns whether the port is a card whose driver has no RSS: all packets then arrive in its first receive queue. */
bool port_rss_is_missing(const struct port *port);
