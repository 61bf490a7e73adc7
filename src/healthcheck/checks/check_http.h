/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The http and grpc checks: a request over a new connection, sent by libcurl. The check passes if the whole response
 * arrives, as expected. grpc/grpc_request.c has what differs for grpc. This file runs the transfers; http_request.c has
 * the request and its expected reply, http_tls.c and http_trust.c the verification of certificates, http_identity.c our
 * own, http_worker.c the threads in which libcurl runs. The functions are for the thread of the event loop.
 */
#pragma once

#include <ev.h>

#include "common/faults.h"
#include "healthcheck/checks/http/http_trust.h"
#include "healthcheck/checks/probe.h"

/* `watch`: read files of certificates again when they change. Returns NULL and adds an error on failure. */
struct http *check_http_open(struct ev_loop *loop, bool watch, struct faults *faults);

/* No http probe may be running. */
void check_http_close(struct http *http);

/* Loads the client certificate of these settings, if they have one. Adds an error if it was never loaded. */
void check_http_prepare(struct http *http, const struct conf_http *settings, struct faults *faults);

/* Reads all files of certificates again. `http` may be NULL. */
void check_http_reload_certificates(struct http *http);

/* Returns the trust that https probes have used so far. `http` may be NULL. */
const struct http_trust *check_http_trust_list(const struct http *http);
