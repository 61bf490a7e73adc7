/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/port_macs.h"

#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "program/host/device.h"
#include "program/log.h"

struct mac_text {
	char text[RTE_ETHER_ADDR_FMT_SIZE];
};

static struct mac_text format(const struct rte_ether_addr *mac)
{
	struct mac_text text;

	rte_ether_format_addr(text.text, sizeof(text.text), mac);
	return text;
}

static struct rte_ether_addr from_number(uint64_t number)
{
	struct rte_ether_addr mac;

	memcpy(&mac, &number, sizeof(mac));
	return mac;
}

/* Finds a kernel interface with this MAC. */
static bool find_interface(const struct rte_ether_addr *mac, char name[IF_NAMESIZE])
{
	struct ifaddrs *all, *at;

	if (getifaddrs(&all))
		return false;
	for (at = all; at; at = at->ifa_next) {
		const struct sockaddr_ll *link = (const void *)at->ifa_addr;

		if (link && link->sll_family == AF_PACKET && link->sll_halen == sizeof(*mac) &&
			memcmp(link->sll_addr, mac, sizeof(*mac)) == 0)
			break;
	}
	if (at)
		snprintf(name, IF_NAMESIZE, "%s", at->ifa_name);
	freeifaddrs(all);
	return at;
}

void port_macs_filter(const struct port *port, const struct admission *admission)
{
	for (uint8_t i = 0; i < admission->mac_count; i++) {
		struct rte_ether_addr mac = from_number(admission->macs[i]);
		char interface[IF_NAMESIZE];
		int error;

		/* With a VF, the filter would take all frames away from the PF, not only those for the VIPs. */
		if (find_interface(&mac, interface)) {
			log_info("port %u (%s): %s of accept_macs is the MAC of %s, so it is not added to the filter of the port",
				port->id, port->name, format(&mac).text, interface);
			continue;
		}
		error = rte_eth_dev_mac_addr_add(port->id, &mac, 0);
		if (error)
			log_warning(
				"port %u (%s): the driver cannot add %s of accept_macs to the filter of the port: %s: if frames to this MAC do not arrive, let the card or the kernel's interface pass them",
				port->id, port->name, format(&mac).text, strerror(-error));
	}
}

/* DPDK does not notice changes of a kernel interface, so this asks the kernel. False: the MAC is not known. */
static bool read_mac(const struct port *port, struct rte_ether_addr *mac)
{
	struct ifreq request = {0};

	if (!port->info.if_index)
		return rte_eth_macaddr_get(port->id, mac) == 0;
	if (!if_indextoname(port->info.if_index, request.ifr_name) || device_ask(SIOCGIFHWADDR, &request) != 0 ||
		request.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return false;
	memcpy(mac, request.ifr_hwaddr.sa_data, sizeof(*mac));
	return true;
}

static void follow(struct port *port, const struct port *exception)
{
	struct rte_ether_addr mac, before = from_number(port->mac_number);
	uint64_t number = 0;
	int error;

	if (!read_mac(port, &mac) || !rte_is_valid_assigned_ether_addr(&mac) || rte_is_same_ether_addr(&mac, &before))
		return;
	memcpy(&number, &mac, sizeof(mac));
	__atomic_store_n(&port->mac_number, number, __ATOMIC_RELAXED);
	log_notice("port %u (%s): the MAC is now %s, before %s", port->id, port->name, format(&mac).text,
		format(&before).text);
	if (!exception)
		return;
	error = rte_eth_dev_default_mac_addr_set(exception->id, &mac);
	if (error)
		log_warning(
			"exception path of port %u: the interface glb%u cannot get the MAC %s: %s: set it (ip link set glb%u address %s), because the kernel gives its own MAC to neighbours",
			port->id, port->id, format(&mac).text, strerror(-error), port->id, format(&mac).text);
}

void port_macs_follow(struct ports *ports)
{
	for (uint16_t i = 0; i < ports->count; i++)
		if (port_is_used(&ports->list[i]) && port_is_running(&ports->list[i]))
			follow(&ports->list[i], i < ports->exception_count && port_is_used(&ports->exceptions[i])
							? &ports->exceptions[i]
							: NULL);
}
