/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves the pages of page.h over HTTP in the daemon's event loop. */
#pragma once

#include "healthcheck/monitor/monitor.h"

struct http_server;

struct server {
	/* NULL: not open. */
	struct http_server *http;
	struct ev_loop *loop;
	ev_io io;
	ev_timer timer;
};

/*
 * Listens on the configured address. Returns 0; or -errno with an error in `faults`. `monitor` must outlive the server,
 * and the server must not move.
 */
int server_open(struct server *server, struct monitor *monitor, struct faults *faults);
void server_close(struct server *server);
