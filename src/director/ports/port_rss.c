/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/port_rss.h"

#include <string.h>
#include <sys/random.h>

#include "program/log.h"

/* Network cards hash fragments by addresses only, so the fragments of a datagram stay together. */
#define ADDRESSES RTE_ETH_RSS_IP
#define PORTS     (RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP)

/* Makes the key at the first call. Later calls, after a reset of the port, keep it. False: the driver has no key. */
static bool make_key(struct port *port)
{
	if (!port->rss_key_size)
		port->rss_key_size = port->info.hash_key_size;
	else
		return true;
	/* At most 255 bytes, so never less */
	if (getrandom(port->rss_key, port->rss_key_size, 0) != port->rss_key_size)
		port->rss_key_size = 0;
	return port->rss_key_size;
}

bool port_rss_is_missing(const struct port *port)
{
	/* Names of cards are addresses on the PCI bus. A device of virtio chooses queues without the help of its
	 * driver. */
	return strchr(port->name, ':') && !port->info.flow_type_rss_offloads &&
	       strcmp(port->info.driver_name, "net_virtio") != 0;
}

static void log_rss(const struct port *port, const struct conf *conf, uint64_t fields)
{
	bool ports = conf->rss_fields == CONF_RSS_ADDRESSES_AND_PORTS;

	if (port_rss_is_missing(port))
		log_warning(
			"port %u (%s): the driver has no RSS, so all packets arrive in receive queue 0: leave out num_worker_queues, so that its lcore distributes them",
			port->id, port->name);
	else if (!fields)
		log_info("port %u (%s): the driver has no RSS for rss_fields, so it chooses the receive queues itself",
			port->id, port->name);
	else if (ports && !(fields & PORTS))
		log_warning("port %u (%s): rss_fields: the driver cannot hash ports, so it hashes addresses only",
			port->id, port->name);
	if (fields && !port->rss_key_size)
		log_warning("port %u (%s): the driver takes no RSS key, so it uses its own, which may be public",
			port->id, port->name);
}

void port_rss_fill(struct port *port, const struct conf *conf, struct rte_eth_conf *device)
{
	uint64_t wanted = conf->rss_fields == CONF_RSS_ADDRESSES ? ADDRESSES : ADDRESSES | PORTS;
	uint64_t fields = wanted & port->info.flow_type_rss_offloads;

	if (port->rx_queues < 2)
		return;
	if (fields) {
		device->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		device->rx_adv_conf.rss_conf.rss_hf = fields;
		if (make_key(port)) {
			device->rx_adv_conf.rss_conf.rss_key = port->rss_key;
			device->rx_adv_conf.rss_conf.rss_key_len = port->rss_key_size;
		}
	}
	log_rss(port, conf, fields);
}

int port_rss_configure(const struct port *port, struct rte_eth_conf *device)
{
	int error = rte_eth_dev_configure(port->id, port->rx_queues, port->tx_queues, device), refused = error;

	if (!error || !device->rx_adv_conf.rss_conf.rss_key)
		return error;
	device->rx_adv_conf.rss_conf.rss_key = NULL;
	device->rx_adv_conf.rss_conf.rss_key_len = 0;
	error = rte_eth_dev_configure(port->id, port->rx_queues, port->tx_queues, device);
	if (!error)
		log_warning(
			"port %u (%s): the driver refuses a random RSS key (%s), so it uses its own, which may be public",
			port->id, port->name, strerror(-refused));
	return error;
}
