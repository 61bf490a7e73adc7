/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/host/interface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/host/device.h"

static bool read_copy(const struct host *host, const char *name, struct interface *interface)
{
	char line[HOST_LINE_MAX];
	long mtu;

	if (!host_exists(host_path(host, "/sys/class/net/%s", name)))
		return false;
	*interface = (struct interface){.running = true};
	if (host_line(host_path(host, "/sys/class/net/%s/flags", name), line))
		interface->up = strtol(line, NULL, 16) & IFF_UP;
	if (host_line(host_path(host, "/sys/class/net/%s/operstate", name), line))
		interface->running = strcmp(line, "down") != 0 && strcmp(line, "lowerlayerdown") != 0;
	if (host_number(host_path(host, "/sys/class/net/%s/mtu", name), &mtu) && mtu > 0)
		interface->mtu = (unsigned)mtu;
	return true;
}

bool interface_read(const struct host *host, const char *name, struct interface *interface)
{
	struct ifreq flags = {0}, mtu;

	if (*host->root)
		return read_copy(host, name, interface);
	snprintf(flags.ifr_name, sizeof(flags.ifr_name), "%s", name);
	mtu = flags;
	if (device_ask(SIOCGIFFLAGS, &flags) != 0 || device_ask(SIOCGIFMTU, &mtu) != 0)
		return false;
	*interface = (struct interface){
		.up = flags.ifr_flags & IFF_UP, .running = flags.ifr_flags & IFF_RUNNING, .mtu = (unsigned)mtu.ifr_mtu};
	return true;
}

struct interface_merging interface_merges(const char *name)
{
	struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS}, gro = {.cmd = ETHTOOL_GGRO};

	return (struct interface_merging){.lro = device_ethtool(name, &flags) == 0 && flags.data & ETH_FLAG_LRO,
		.gro = device_ethtool(name, &gro) == 0 && gro.data};
}
