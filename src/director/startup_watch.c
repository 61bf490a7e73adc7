/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/startup_watch.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "program/log.h"

static void *run(void *argument)
{
	const struct startup_watch *watch = argument;
	struct pollfd done = {.fd = watch->done, .events = POLLIN};

	if (poll(&done, 1, watch->patience_ms) == 0)
		log_error("port %s: the card does not answer its driver %s, so the director cannot start: see the kernel's log; a virtio-net device behind an IOMMU needs iommu_platform=on in qemu",
			watch->port, watch->driver);
	return NULL;
}

int startup_watch_begin(struct startup_watch *watch, const char *port, const char *driver, int patience_ms)
{
	int error;

	*watch = (struct startup_watch){.port = port, .driver = driver, .patience_ms = patience_ms};
	watch->done = eventfd(0, EFD_CLOEXEC);
	if (watch->done < 0)
		return -errno;
	error = pthread_create(&watch->thread, NULL, run, watch);
	if (error)
		close(watch->done);
	return -error;
}

void startup_watch_end(struct startup_watch *watch)
{
	eventfd_write(watch->done, 1);
	pthread_join(watch->thread, NULL);
	close(watch->done);
}
