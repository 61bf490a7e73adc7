/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/admission/vlan_offload.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "program/log.h"

/* Reads or writes the flags. Returns 0 or an errno. */
static int flags_ioctl(int fd, struct ifreq *request, uint32_t command, uint32_t *flags)
{
	struct ethtool_value value = {.cmd = command, .data = *flags};

	request->ifr_data = (char *)&value;
	if (ioctl(fd, SIOCETHTOOL, request) < 0)
		return errno;
	*flags = value.data;
	return 0;
}

void vlan_offload_disable(const struct port *port)
{
	struct ifreq request = {0};
	uint32_t flags = 0;
	int fd, error;

	if (strcmp(port->info.driver_name, "net_af_xdp") != 0 || !if_indextoname(port->info.if_index, request.ifr_name))
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || flags_ioctl(fd, &request, ETHTOOL_GFLAGS, &flags) || !(flags & ETH_FLAG_RXVLAN)) {
		close(fd);
		return;
	}
	flags &= ~(uint32_t)ETH_FLAG_RXVLAN;
	error = flags_ioctl(fd, &request, ETHTOOL_SFLAGS, &flags);
	close(fd);
	if (error)
		log_warning(
			"port %u (%s): %s takes VLAN tags out of frames, and AF_XDP does not deliver them, so tagged frames pass for untagged ones: %s: try: ethtool -K %s rxvlan off",
			port->id, port->name, request.ifr_name, strerror(error), request.ifr_name);
	else
		log_notice(
			"port %u (%s): switched off rxvlan of %s, because AF_XDP does not deliver the VLAN tags that it takes out",
			port->id, port->name, request.ifr_name);
}
