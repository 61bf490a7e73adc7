/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/host/interface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool ask(unsigned long question, const char *name, struct ifreq *request)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool known;

	snprintf(request->ifr_name, sizeof(request->ifr_name), "%s", name);
	known = fd >= 0 && ioctl(fd, question, request) == 0;
	if (fd >= 0)
		close(fd);
	return known;
}

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
	struct ifreq flags = {0}, mtu = {0};

	if (*host->root)
		return read_copy(host, name, interface);
	if (!ask(SIOCGIFFLAGS, name, &flags) || !ask(SIOCGIFMTU, name, &mtu))
		return false;
	*interface = (struct interface){
		.up = flags.ifr_flags & IFF_UP, .running = flags.ifr_flags & IFF_RUNNING, .mtu = (unsigned)mtu.ifr_mtu};
	return true;
}

static uint32_t ask_driver(uint32_t question, const char *name)
{
	struct ethtool_value value = {.cmd = question};
	struct ifreq request = {.ifr_data = (void *)&value};

	return ask(SIOCETHTOOL, name, &request) ? value.data : 0;
}

struct interface_merging interface_merges(const char *name)
{
	return (struct interface_merging){
		.lro = ask_driver(ETHTOOL_GFLAGS, name) & ETH_FLAG_LRO, .gro = ask_driver(ETHTOOL_GGRO, name)};
}
