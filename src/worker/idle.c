/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/idle.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "program/log.h"

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

void idle_forget(struct idle *idle)
{
	idle->fd_count = idle->may_sleep;
	idle->interrupt_count = 0;
	idle->must_nap = false;
}

void idle_watch(struct idle *idle, const struct idle_source *source, uint16_t port, uint16_t queue)
{
	if (!idle->may_sleep)
		return;
	if (source->fd < 0 || idle->fd_count == IDLE_MAX_FDS) {
		idle->must_nap = true;
		return;
	}
	idle->fds[idle->fd_count++] = (struct pollfd){.fd = source->fd, .events = POLLIN};
	if (source->is_interrupt)
		idle->interrupts[idle->interrupt_count++] = (struct idle_interrupt){port, queue, source->fd};
}

/* Not all queues wake the lcore, so it must look at them itself. */
static bool must_nap(const struct idle *idle)
{
	return idle->must_nap || idle->lost >= IDLE_LOST_INTERRUPTS;
}

void idle_trust_again(struct idle *idle)
{
	if (idle->lost >= IDLE_LOST_INTERRUPTS)
		idle->lost = IDLE_LOST_INTERRUPTS - 1;
}

bool idle_arm(struct idle *idle)
{
	if (!idle->interrupt_count || must_nap(idle))
		return false;
	idle->armed = true;
	for (unsigned i = 0; i < idle->interrupt_count; i++)
		if (rte_eth_dev_rx_intr_enable(idle->interrupts[i].port, idle->interrupts[i].queue))
			idle->must_nap = true;
	return true;
}

void idle_disarm(struct idle *idle)
{
	uint64_t count;

	if (!idle->armed)
		return;
	idle->armed = false;
	for (unsigned i = 0; i < idle->interrupt_count; i++) {
		rte_eth_dev_rx_intr_disable(idle->interrupts[i].port, idle->interrupts[i].queue);
		if (read(idle->interrupts[i].fd, &count, sizeof(count)) < 0)
			continue; /* it did not come */
	}
}

/* Each nap is twice as long as the one before, up to a limit at which the receive queue can still hold what arrives. */
static uint32_t next_nap(struct idle *idle)
{
	uint32_t nap = idle->nap_us ? idle->nap_us : FIRST_NAP_US;

	idle->nap_us = 2 * nap < LONGEST_NAP_US ? 2 * nap : LONGEST_NAP_US;
	return nap;
}

/* Also of an interface that is down: poll() always returns its file descriptor, but with an error instead of
 * packets. */
static bool is_readable(const struct idle *idle, unsigned first)
{
	for (unsigned i = first; i < idle->fd_count; i++)
		if (idle->fds[i].revents & POLLIN)
			return true;
	return false;
}

bool idle_sleep(struct idle *idle)
{
	uint32_t wait_us = must_nap(idle) ? next_nap(idle) : LONGEST_WAIT_US;
	struct timespec wait = {.tv_nsec = (long)wait_us * 1000};
	bool ready = ppoll(idle->fds, idle->fd_count, &wait, NULL) > 0;

	if (ready && !is_readable(idle, 0))
		nanosleep(&(struct timespec){.tv_nsec = LONGEST_NAP_US * 1000}, NULL);
	doorbell_withdraw(&idle->bell);
	if (ready && is_readable(idle, 1) && !must_nap(idle))
		idle->lost = 0;
	return ready && is_readable(idle, 0);
}

void idle_missed(struct idle *idle)
{
	/* An interrupt that comes late, after the packet was seen, is none that is lost. */
	if (must_nap(idle) || (poll(idle->fds, idle->fd_count, 0) > 0 && is_readable(idle, 1)))
		return;
	if (++idle->lost == IDLE_LOST_INTERRUPTS)
		log_limited(LOG_LEVEL_WARNING,
			"port %u: packets arrive without receive interrupts, so idle lcores look for them every millisecond",
			idle->interrupts[0].port);
}
