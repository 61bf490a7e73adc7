/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The http check: a GET request over a new connection, sent by libcurl. The event loop watches libcurl's sockets and
 * timer. The check passes if the whole response arrives, with an expected status and body.
 */
#ifndef GLB_HEALTHCHECK_CHECKS_CHECK_HTTP_H
#define GLB_HEALTHCHECK_CHECKS_CHECK_HTTP_H

#include <ev.h>

#include "common/faults.h"
#include "healthcheck/checks/probe.h"

/* Returns NULL and adds an error on failure. */
struct http *http_open(struct ev_loop *loop, struct faults *faults);

/* No http probe may be running. */
void http_close(struct http *http);

extern const struct probe_method check_http;

#endif
