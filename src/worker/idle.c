/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/idle.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	/* The lcore wakes up this often to see whether it should stop, and to show the watchdog that it is alive. */
	LONGEST_WAIT_US = 100 * 1000,
	FIRST_NAP_US = 50,
	LONGEST_NAP_US = 1000,
};

int idle_open(struct idle *idle, bool may_sleep)
{
	*idle = (struct idle){.may_sleep = may_sleep, .bell.fd = -1};
	if (!may_sleep)
		return 0;
	idle->bell.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (idle->bell.fd < 0)
		return -errno;
	idle->fds[idle->fd_count++] = (struct pollfd){.fd = idle->bell.fd, .events = POLLIN};
	return 0;
}

void idle_close(struct idle *idle)
{
	if (idle->bell.fd >= 0)
		close(idle->bell.fd);
}

void idle_watch(struct idle *idle, int fd)
{
	if (fd < 0 || idle->fd_count == IDLE_MAX_FDS)
		idle->must_nap = true;
	else
		idle->fds[idle->fd_count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* Each nap is twice as long as the one before, up to a limit at which the receive queue can still hold what arrives. */
static uint32_t next_nap(struct idle *idle)
{
	uint32_t nap = idle->nap_us ? idle->nap_us : FIRST_NAP_US;

	idle->nap_us = 2 * nap < LONGEST_NAP_US ? 2 * nap : LONGEST_NAP_US;
	return nap;
}

/* True for an interface that is down: poll() always returns its file descriptor, but with an error instead of packets. */
static bool only_errors(const struct idle *idle)
{
	for (unsigned i = 0; i < idle->fd_count; i++)
		if (idle->fds[i].revents & POLLIN)
			return false;
	return true;
}

void idle_sleep(struct idle *idle)
{
	uint32_t wait_us = idle->must_nap ? next_nap(idle) : LONGEST_WAIT_US;
	struct timespec wait = {.tv_nsec = (long)wait_us * 1000};

	if (ppoll(idle->fds, idle->fd_count, &wait, NULL) > 0 && only_errors(idle))
		nanosleep(&(struct timespec){.tv_nsec = LONGEST_NAP_US * 1000}, NULL);
	doorbell_withdraw(&idle->bell);
}
