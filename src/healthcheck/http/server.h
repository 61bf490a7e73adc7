/* SPDX-License-Identifier: BSD-3-Clause */
/* GET /status and GET /metrics over HTTP, by libmicrohttpd in the daemon's own loop. */
#ifndef GLB_HEALTHCHECK_HTTP_SERVER_H
#define GLB_HEALTHCHECK_HTTP_SERVER_H

#include "healthcheck/monitor.h"

struct MHD_Daemon;

struct server {
	struct MHD_Daemon *daemon;
	struct ev_loop *loop;
	ev_io io;
	ev_timer timer;
};

/* 0; or -errno, and an error. */
int server_open(struct server *server, struct monitor *monitor, struct faults *faults);
void server_close(struct server *server);

#endif
