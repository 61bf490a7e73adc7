/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/exception.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "program/host/device.h"
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

/* Opens the device for a moment, because a device file is no sign that the kernel has the module. 0 or -errno. */
static int check_device(const char *path, const char *device, const char *module)
{
	int fd = open(device, O_RDWR | O_CLOEXEC), error = fd < 0 ? -errno : 0;

	if (error)
		log_error("exception_path = \"%s\": %s: %s: load the module (modprobe %s), and allow the director to open the device",
			path, device, strerror(-error), module);
	else
		close(fd);
	return error;
}

static int check_devices(enum conf_exception_path path)
{
	bool tap = path == CONF_EXCEPTION_TAP;
	int error = check_device(tap ? "tap" : "virtio-user", "/dev/net/tun", "tun");

	return error || tap ? error : check_device("virtio-user", VHOST_DEVICE, "vhost-net");
}

/* The kernel would share an existing interface between both directors, and DPDK would change its MAC. */
static int check_name(const struct port *port)
{
	char interface[IF_NAMESIZE];

	snprintf(interface, sizeof(interface), "glb%u", port->id);
	if (!if_nametoindex(interface))
		return 0;
	log_error("exception path of port %u: the interface %s exists already: stop the director that has made it, or remove it (ip link del %s)",
		port->id, interface, interface);
	return -EEXIST;
}

/* Returns the largest MTU whose frames the director can take from the kernel and the port can send. */
static uint16_t largest_mtu(const struct port *port, const struct port *exception)
{
	uint16_t room = rte_pktmbuf_data_room_size(exception->pool) - RTE_PKTMBUF_HEADROOM;

	if (exception->rx_segments && port->tx_segments)
		return UINT16_MAX;
	return room - RTE_ETHER_HDR_LEN - RTE_VLAN_HLEN;
}

/* The driver of tap accepts no MTU above 1504, but does not mind what the interface in the kernel has. */
static void set_mtu(const struct port *port, const struct port *exception)
{
	uint16_t largest = largest_mtu(port, exception);
	struct ifreq request = {.ifr_mtu = RTE_MIN(port->mtu, largest)};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "glb%u", port->id);
	if (device_ask(SIOCSIFMTU, &request) != 0)
		log_warning("%s: cannot have MTU %d, the MTU of port %u: %s: set it yourself (ip link set dev %s mtu %d)",
			request.ifr_name, request.ifr_mtu, port->id, strerror(errno), request.ifr_name, request.ifr_mtu);
	else if (port->mtu > largest)
		log_warning("%s: has MTU %u, not %u as port %u, because a larger frame does not fit into a buffer",
			request.ifr_name, largest, port->mtu, port->id);
}

/* net_virtio_user leaves the interface down, and does not tell DPDK which one it has made. */
static void bring_up(const struct port *port, struct port *exception)
{
	struct ifreq request = {0};
	int error;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "glb%u", port->id);
	exception->info.if_index = if_nametoindex(request.ifr_name);
	error = device_ask(SIOCGIFFLAGS, &request);
	request.ifr_flags |= IFF_UP;
	if (error || device_ask(SIOCSIFFLAGS, &request) != 0)
		log_warning("%s: cannot be brought up: %s: do it yourself (ip link set dev %s up)", request.ifr_name,
			strerror(errno), request.ifr_name);
}

/* Lets the kernel do it, for a driver that uses a kernel interface. The kernel undoes it when the process ends. */
static bool ask_kernel_for_multicast(struct port *port)
{
	struct packet_mreq request = {.mr_ifindex = (int)port->info.if_index, .mr_type = PACKET_MR_ALLMULTI};
	int fd = port->info.if_index ? socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) : -1;

	if (fd < 0)
		return false;
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request))) {
		close(fd);
		return false;
	}
	if (port->multicast_socket)
		close(port->multicast_socket);
	port->multicast_socket = fd;
	return true;
}

/*
 * IPv6 resolves an address with multicast to a group that depends on the address (RFC 4291), and the director does not
 * know the kernel's addresses.
 */
static void receive_multicast(struct port *port)
{
	int error = rte_eth_allmulticast_enable(port->id);

	if (error && !ask_kernel_for_multicast(port))
		log_warning("port %u (%s): cannot receive all multicast: %s: IPv6 and OSPF on glb%u may not work",
			port->id, port->name, strerror(-error), port->id);
}

static int open_one(const struct conf *conf, uint16_t lcores, struct port *port, struct port *exception)
{
	struct device device = describe(conf->exception_path, port);
	uint16_t id;
	int error = check_name(port);

	if (error)
		return error;
	error = rte_eal_hotplug_add("vdev", device.name, device.arguments);
	if (!error)
		error = rte_eth_dev_get_port_by_name(device.name, &id);
	if (error) {
		log_error("exception path of port %u: DPDK cannot create %s,%s: %s; CAP_NET_ADMIN may be missing",
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
	exception->mtu = port->mtu;
	exception->rx_queues = exception->tx_queues = port->rx_queues;
	error = port_setup(exception, conf, lcores, 0);
	if (!error)
		error = port_start(exception, conf);
	if (!error) {
		set_mtu(port, exception);
		bring_up(port, exception);
		receive_multicast(port);
	}
	return error;
}

void exception_restore(struct ports *ports, struct port *port)
{
	const struct port *exception = ports_exception(ports, port->id);

	if (!exception || !port_is_used(exception))
		return;
	set_mtu(port, exception);
	receive_multicast(port);
}

void exception_follow(struct ports *ports)
{
	for (uint16_t i = 0; i < ports->exception_count; i++) {
		struct port *port = &ports->list[i];
		bool readable = ports->exceptions[i].rx_queues && port_is_running(port);
		uint16_t mtu = readable ? port_read_mtu(port) : port->mtu;

		if (mtu == port->mtu)
			continue;
		log_notice("port %u (%s): the MTU is now %u", port->id, port->name, mtu);
		__atomic_store_n(&port->mtu, mtu, __ATOMIC_RELAXED);
		set_mtu(port, &ports->exceptions[i]);
	}
}

int exception_open(struct ports *ports, uint16_t lcores)
{
	int error;

	if (ports->conf->exception_path == CONF_EXCEPTION_NONE)
		return 0;
	error = check_devices(ports->conf->exception_path);
	for (uint16_t i = 0; i < ports->count && !error; i++) {
		if (ports->list[i].rx_queues)
			error = open_one(ports->conf, lcores, &ports->list[i], &ports->exceptions[i]);
		if (!error)
			ports->exception_count++;
	}
	return error;
}
