/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The http check: a GET over a new connection, by libcurl, whose sockets and timer are driven by
 * the loop. Passes when the whole answer came, with an expected status and body.
 */
#ifndef GLB_HEALTHCHECK_CHECKS_CHECK_HTTP_H
#define GLB_HEALTHCHECK_CHECKS_CHECK_HTTP_H

#include <ev.h>

#include "common/faults.h"
#include "healthcheck/checks/probe.h"

/* NULL: an error says why. */
struct http *http_open(struct ev_loop *loop, struct faults *faults);

/* No probe may be running. */
void http_close(struct http *http);

extern const struct probe_method check_http;

#endif
