/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves GET /status and GET /metrics over HTTP. libmicrohttpd runs in the daemon's event loop, without threads. */
#ifndef GLB_HEALTHCHECK_HTTP_SERVER_H
#define GLB_HEALTHCHECK_HTTP_SERVER_H

#include "healthcheck/monitor/monitor.h"

struct MHD_Daemon;
struct client;

struct server {
	struct MHD_Daemon *daemon;
	struct ev_loop *loop;
	const struct monitor *monitor;
	/* Oldest first. The number does not include those that are being disconnected. */
	struct client *clients;
	unsigned client_count;
	ev_io io;
	ev_timer timer;
};

/*
 * Listens on the configured address. Returns 0; or -errno with an error in `faults`. `monitor` must outlive the server,
 * and the server must not move.
 */
int server_open(struct server *server, struct monitor *monitor, struct faults *faults);
void server_close(struct server *server);

#endif
