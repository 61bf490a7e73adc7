/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/kernel.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Gives the interface the MAC that all frames of the benchmark are sent to, and sets it up. */
static int bring_up(struct ifreq *request)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -1;
	request->ifr_hwaddr = (struct sockaddr){.sa_family = ARPHRD_ETHER, .sa_data = {2, 2, 2, 2, 2, 2}};
	error = ioctl(fd, SIOCSIFHWADDR, request);
	request->ifr_flags = IFF_UP;
	error = error ? error : ioctl(fd, SIOCSIFFLAGS, request);
	close(fd);
	return error;
}

/* Runs in its own thread, because only this thread moves to the new namespace. */
static void *open_tap(void *unused)
{
	struct ifreq request = {.ifr_flags = IFF_TAP};
	int fd = unshare(CLONE_NEWNET) ? -1 : open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	(void)unused;
	if (fd >= 0 && (ioctl(fd, TUNSETIFF, &request) || bring_up(&request))) {
		close(fd);
		fd = -1;
	}
	return (void *)(intptr_t)fd;
}

int kernel_open_tap(void)
{
	pthread_t thread;
	void *fd;

	if (pthread_create(&thread, NULL, open_tap, NULL))
		return -1;
	pthread_join(thread, &fd);
	return (int)(intptr_t)fd;
}
