/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/link.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "director/ports/port.h"
#include "program/host/device.h"

/* Drivers on kernel interfaces do not report the real link, so this asks the kernel. */
static struct link read_kernel(const struct port *port)
{
	struct ethtool_cmd command = {.cmd = ETHTOOL_GSET};
	struct ifreq request = {0};
	struct link link = {0};
	bool named = if_indextoname(port->info.if_index, request.ifr_name);

	if (!named && errno == ENXIO)
		return (struct link){.missing = true};
	if (!named || device_ask(SIOCGIFFLAGS, &request) != 0)
		return port->link; /* no descriptor is free, or the interface has just been renamed */
	link.up = (request.ifr_flags & IFF_UP) && (request.ifr_flags & IFF_RUNNING);
	if (link.up && device_ethtool(request.ifr_name, &command) == 0 &&
		ethtool_cmd_speed(&command) != (uint32_t)SPEED_UNKNOWN)
		link.mbps = ethtool_cmd_speed(&command);
	return link;
}

struct link link_ask(const struct port *port)
{
	struct rte_eth_link device = {0};
	struct link link = {0};

	if (port->info.if_index)
		return read_kernel(port);
	if (rte_eth_link_get_nowait(port->id, &device) == 0 && device.link_status == RTE_ETH_LINK_UP) {
		link.up = true;
		link.mbps = device.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : device.link_speed;
	}
	return link;
}

void link_store(struct port *port, struct link link)
{
	__atomic_store(&port->link, &link, __ATOMIC_RELAXED);
}

struct link link_load(const struct port *port)
{
	struct link link;

	__atomic_load(&port->link, &link, __ATOMIC_RELAXED);
	return link;
}

const char *link_text(const struct link *link, char buf[LINK_TEXT_MAX])
{
	if (link->mbps)
		snprintf(buf, LINK_TEXT_MAX, "up %" PRIu32 " Mbit/s", link->mbps);
	else
		snprintf(buf, LINK_TEXT_MAX, "%s", link->up ? "up" : "down");
	return buf;
}
