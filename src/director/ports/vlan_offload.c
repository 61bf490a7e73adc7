/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/vlan_offload.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <string.h>

#include "program/host/device.h"
#include "program/log.h"

void vlan_offload_disable(const struct port *port)
{
	struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
	char name[IF_NAMESIZE];

	if (strcmp(port->info.driver_name, "net_af_xdp") != 0 || !if_indextoname(port->info.if_index, name))
		return;
	if (device_ethtool(name, &flags) != 0 || !(flags.data & ETH_FLAG_RXVLAN))
		return;
	flags.cmd = ETHTOOL_SFLAGS;
	flags.data &= ~(uint32_t)ETH_FLAG_RXVLAN;
	if (device_ethtool(name, &flags) != 0)
		log_warning(
			"port %u (%s): %s takes VLAN tags out of frames, and AF_XDP does not deliver them, so tagged frames pass for untagged ones: %s: try: ethtool -K %s rxvlan off",
			port->id, port->name, name, strerror(errno), name);
	else
		log_notice(
			"port %u (%s): switched off rxvlan of %s, because AF_XDP does not deliver the VLAN tags that it takes out",
			port->id, port->name, name);
}
