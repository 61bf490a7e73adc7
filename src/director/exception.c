/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/exception.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "program/log.h"

#define VHOST_DEVICE "/dev/vhost-net"

/* Name and arguments of a virtual device. */
struct device {
	char name[32], arguments[160];
};

static struct device describe(enum conf_exception_path path, const struct port *port)
{
	char mac[RTE_ETHER_ADDR_FMT_SIZE];
	struct device device;

	rte_ether_format_addr(mac, sizeof(mac), &port->mac);
	if (path == CONF_EXCEPTION_TAP) {
		snprintf(device.name, sizeof(device.name), "net_tap_glb%u", port->id);
		snprintf(device.arguments, sizeof(device.arguments), "iface=glb%u,mac=%s", port->id, mac);
	} else {
		snprintf(device.name, sizeof(device.name), "net_virtio_user_glb%u", port->id);
		snprintf(device.arguments, sizeof(device.arguments),
			"path=" VHOST_DEVICE ",iface=glb%u,mac=%s,queues=%u,queue_size=1024", port->id, mac,
			port->rx_queues);
	}
	return device;
}

static int check_access(enum conf_exception_path path)
{
	if (path == CONF_EXCEPTION_TAP && access("/dev/net/tun", R_OK | W_OK) != 0) {
		log_error("exception_path = \"tap\": /dev/net/tun: %s: load the module (modprobe tun), and allow the director to open the device",
			strerror(errno));
		return -ENODEV;
	}
	if (path == CONF_EXCEPTION_VIRTIO_USER && access(VHOST_DEVICE, R_OK | W_OK) != 0) {
		log_error("exception_path = \"virtio-user\": " VHOST_DEVICE
			  ": %s: load the module (modprobe vhost-net) and allow the director to open the device, or use exception_path = \"tap\"",
			strerror(errno));
		return -ENODEV;
	}
	return 0;
}

static int open_one(struct director *director, const struct port *port, struct port *exception)
{
	const struct conf *conf = &director->conf;
	struct device device = describe(conf->exception_path, port);
	uint16_t id;
	int error = rte_eal_hotplug_add("vdev", device.name, device.arguments);

	if (!error)
		error = rte_eth_dev_get_port_by_name(device.name, &id);
	if (error) {
		log_error("exception path of port %u: DPDK cannot create %s,%s: %s; CAP_NET_ADMIN may be missing, or the interface name may be in use",
			port->id, device.name, device.arguments, strerror(-error));
		return error;
	}
	error = port_probe(exception, id);
	if (error)
		return error;
	exception->of_exception_path = true;
	if (port->rx_queues > exception->info.max_rx_queues) {
		log_error("exception path of port %u: the port has %u receive queues, but %s can have at most %u: lower num_worker_queues",
			port->id, port->rx_queues, device.name, exception->info.max_rx_queues);
		return -E2BIG;
	}
	exception->rx_queues = exception->tx_queues = port->rx_queues;
	error = port_setup(exception, conf, director->plan.lcore_count, 0);
	return error ? error : port_start(exception, conf);
}

int exception_open(struct director *director)
{
	int error;

	if (director->conf.exception_path == CONF_EXCEPTION_NONE)
		return 0;
	error = check_access(director->conf.exception_path);
	for (uint16_t i = 0; i < director->port_count && !error; i++) {
		if (director->ports[i].rx_queues)
			error = open_one(director, &director->ports[i], &director->exceptions[i]);
		if (!error)
			director->exception_count++;
	}
	return error;
}
