/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/http/server.h"

#include <string.h>

#include "healthcheck/http/page.h"
#include "program/http/http_server.h"
#include "program/timer.h"

static void server_run(struct server *server)
{
	int timeout_ms = http_server_run(server->http);

	ev_timer_stop(server->loop, &server->timer);
	if (timeout_ms < 0)
		return;
	timer_restart(server->loop, &server->timer, timeout_ms / 1e3);
}

static void on_io(struct ev_loop *, ev_io *io, int)
{
	server_run(io->data);
}

static void on_timer(struct ev_loop *, ev_timer *timer, int)
{
	server_run(timer->data);
}

int server_open(struct server *server, struct monitor *monitor, struct faults *faults)
{
	const struct conf *conf = monitor->conf;
	int error;

	*server = (struct server){.loop = monitor->loop};
	error = http_server_open(&server->http, &conf->listen.addr, conf->listen.port, page_routes, monitor);
	if (error) {
		char address[NETADDR_TEXT_MAX];

		faults_error(faults, "listen", "cannot serve on %s port %u: %s",
			netaddr_format(&conf->listen.addr, address), conf->listen.port, strerror(-error));
		return error;
	}
	ev_io_init(&server->io, on_io, http_server_descriptor(server->http), EV_READ);
	ev_timer_init(&server->timer, on_timer, 0, 0);
	server->io.data = server->timer.data = server;
	ev_io_start(server->loop, &server->io);
	return 0;
}

void server_close(struct server *server)
{
	if (!server->http)
		return;
	ev_io_stop(server->loop, &server->io);
	ev_timer_stop(server->loop, &server->timer);
	http_server_close(server->http);
	server->http = NULL;
}
