/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/port_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "program/log.h"

static void log_silence(const struct port_watch *watch)
{
	if (watch->kind == PORT_WATCH_START)
		log_error("%s, so the director cannot start: see the kernel's log; a virtio-net device behind an IOMMU needs iommu_platform=on in qemu",
			watch->what);
	else
		log_error("%s, so the director goes on without the port: see the kernel's log, and restart the director if this lasts",
			watch->what);
}

static void *port_watch_run(void *argument)
{
	const struct port_watch *watch = argument;
	struct pollfd fds[] = {{.fd = watch->done, .events = POLLIN}, {.fd = watch->signals, .events = POLLIN}};

	if (watch->kind != PORT_WATCH_STOP && poll(fds, 2, watch->log_ms) == 0) {
		log_silence(watch);
		poll(fds, 2, -1);
	}
	if (fds[0].revents || poll(fds, 1, PORT_WATCH_END_MS))
		return NULL;
	log_error("%s, so the director ends without closing its ports", watch->what);
	_exit(EXIT_FAILURE);
}

static int open_signals(enum port_watch_kind kind)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return kind == PORT_WATCH_START ? signalfd(-1, &set, SFD_CLOEXEC) : -1;
}

static void close_all(struct port_watch *watch)
{
	if (watch->done >= 0)
		close(watch->done);
	if (watch->signals >= 0)
		close(watch->signals);
	watch->done = -1;
}

void port_watch_begin(struct port_watch *watch, enum port_watch_kind kind, const struct port *port, int log_ms)
{
	int error;

	*watch = (struct port_watch){.kind = kind, .log_ms = log_ms};
	if (port)
		snprintf(watch->what, sizeof(watch->what), "port %u (%s): the card does not answer its driver %s",
			port->id, port->name, port->info.driver_name);
	else
		snprintf(watch->what, sizeof(watch->what),
			"DPDK's EAL waits, perhaps for a card that does not answer its driver");
	watch->signals = open_signals(kind);
	watch->done = eventfd(0, EFD_CLOEXEC);
	error = watch->done < 0 ? errno : pthread_create(&watch->thread, NULL, port_watch_run, watch);
	if (!error)
		return;
	log_warning("no thread can say whether a card answers: %s", strerror(error));
	close_all(watch);
}

void port_watch_end(struct port_watch *watch)
{
	if (watch->done < 0)
		return;
	eventfd_write(watch->done, 1);
	pthread_join(watch->thread, NULL);
	close_all(watch);
}
