/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/descriptors.h"

#include <dirent.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif

void descriptors_take(struct descriptors *now)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;

	memset(now, 0, sizeof(*now));
	while (folder && (entry = readdir(folder))) {
		long fd = entry->d_name[0] == '.' ? -1 : strtol(entry->d_name, NULL, 10);

		if (fd >= 0 && fd < DESCRIPTORS_MAX && fd != dirfd(folder))
			now->open[fd] = true;
	}
	if (folder)
		closedir(folder);
}

static int domain(int fd)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &size) ? -1 : value;
}

static bool is_tun(int fd)
{
	char path[32], target[32] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target) - 1) > 0 && strcmp(target, "/dev/net/tun") == 0;
}

int descriptors_new_queue(const struct descriptors *before)
{
	struct descriptors now;

	descriptors_take(&now);
	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
		if (now.open[fd] && !before->open[fd] && (domain(fd) == AF_XDP || is_tun(fd)))
			return fd;
	return -1;
}

static bool is_bound_to(int fd, unsigned interface)
{
	struct sockaddr_ll address = {0};
	socklen_t size = sizeof(address);

	return domain(fd) == AF_PACKET && getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
	       address.sll_ifindex == (int)interface;
}

/* Returns the file descriptor of the socket with this inode, if it is bound to the interface. Otherwise -1. */
static int find_bound(const struct descriptors *now, unsigned long inode, unsigned interface)
{
	struct stat status;

	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
		if (now->open[fd] && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == inode &&
			is_bound_to(fd, interface))
			return fd;
	return -1;
}

int descriptors_packet_socket(unsigned interface, uint16_t n)
{
	/*
	 * Linux lists the sockets in the order in which they were created, with the inode in the ninth column, which
	 * blanks may follow. The file descriptors need not ascend: while the driver creates its sockets, another thread
	 * may close a lower one.
	 */
	FILE *list = fopen("/proc/self/net/packet", "re");
	struct descriptors now;
	char line[256];
	int found = -1;

	descriptors_take(&now);
	while (list && fgets(line, sizeof(line), list)) {
		unsigned long inode;
		int fd = -1;

		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %lu", &inode) == 1)
			fd = find_bound(&now, inode, interface);

		if (fd >= 0 && n-- == 0) {
			found = fd;
			break;
		}
	}
	if (list)
		fclose(list);
	return found;
}
