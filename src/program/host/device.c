/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/host/device.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int device_ask(unsigned long request, struct ifreq *interface)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), result, error;

	if (fd < 0)
		return -1;
	result = ioctl(fd, request, interface);
	error = errno;
	close(fd);
	errno = error;
	return result < 0 ? -1 : 0;
}

int device_ethtool(const char *name, void *command)
{
	struct ifreq interface = {.ifr_data = command};

	snprintf(interface.ifr_name, sizeof(interface.ifr_name), "%s", name);
	return device_ask(SIOCETHTOOL, &interface);
}
