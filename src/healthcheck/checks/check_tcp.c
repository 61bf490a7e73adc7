/* SPDX-License-Identifier: BSD-3-Clause */
/* The tcp check passes when a connection is established. It closes the connection at once. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "program/sockaddr.h"
#include "healthcheck/checks/probe.h"
#include "healthcheck/config/conf.h"

struct tcp {
	ev_io io;
	int fd;
};

static void on_connected(struct ev_loop *, ev_io *io, int)
{
	struct probe *probe = io->data;
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error)
		probe_end_errno(probe, error);
	else
		probe_end(probe, CHECK_PASSED, "connected");
}

/* Returns a socket that is connecting to the target, or -errno. */
static int connect_to(const struct probe *probe)
{
	const struct check_spec *spec = probe->spec;
	const struct netaddr *source = conf_source(probe->env->conf, spec->addr.family);
	union sockaddr_any to, from;
	int fd = socket(sockaddr_family(&spec->addr), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = 0, on = 1;
	socklen_t size;

	if (fd < 0)
		return -errno;
	if (source) {
		/* connect() chooses the source port, so that it need only be unique for this proxy. */
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
		size = sockaddr_fill(&from, source, 0);
		if (bind(fd, &from.sa, size) < 0)
			error = errno;
	}
	size = sockaddr_fill(&to, &spec->addr, spec->port);
	if (!error && connect(fd, &to.sa, size) < 0 && errno != EINPROGRESS)
		error = errno;
	if (!error)
		return fd;
	close(fd);
	return -error;
}

static void start(struct probe *probe)
{
	struct tcp *tcp = malloc(sizeof(*tcp));
	int fd = tcp ? connect_to(probe) : -ENOMEM;

	if (fd < 0) {
		free(tcp);
		probe_end_errno(probe, -fd);
		return;
	}
	tcp->fd = fd;
	ev_io_init(&tcp->io, on_connected, fd, EV_WRITE);
	tcp->io.data = probe;
	ev_io_start(probe->env->loop, &tcp->io);
	probe->state = tcp;
}

static void stop(struct probe *probe)
{
	struct tcp *tcp = probe->state;

	if (!tcp)
		return;
	ev_io_stop(probe->env->loop, &tcp->io);
	close(tcp->fd);
	free(tcp);
	probe->state = NULL;
}

const struct probe_method check_tcp = {.start = start, .stop = stop};
