/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target of a check, and the results of its probes (probe.h). The code of the checks does not use tables, schedules
 * or verdicts.
 */
#pragma once

#include <stdint.h>

#include "common/netaddr.h"
#include "health/check_kind.h"
#include "healthcheck/checks/pulse.h"

/* Symbol, name in metrics and status, meaning (docs/reference/healthcheck.md has the same text). */
#define CHECK_RESULTS(X)                                                                               \
	X(PASSED, "passed", "the proxy replied as expected")                                           \
	X(TIMED_OUT, "timeout", "no complete reply before the timeout")                                \
	X(REFUSED, "refused", "no process listens on the port")                                        \
	X(RESET, "reset", "the connection was reset, or closed without a reply")                       \
	X(UNREACHABLE, "unreachable", "the network reports that the host cannot be reached")           \
	X(BAD_STATUS, "bad_status", "the status of HTTP or gRPC is not an expected one")               \
	X(BAD_BODY, "bad_body", "the body does not contain the expected text")                         \
	X(BAD_TLS, "bad_tls", "no TLS, or the certificate is not trusted for the name")                \
	X(BAD_REPLY, "bad_reply", "the reply breaks the protocol or is too large")                     \
	X(BAD_EXIT, "bad_exit", "the command reports a critical state, or ended in an unexpected way") \
	X(NOT_RUN, "not_run", "this host could not run the check; the proxy may be healthy")

enum check_result {
#define X(symbol, name, help) CHECK_##symbol,
	CHECK_RESULTS(X)
#undef X
		CHECK_RESULT_COUNT
};

struct commands;
struct conf;
struct conf_command;
struct conf_http;
struct ev_loop;
struct http;
struct tunnel;

/* The target of a check. `port` is in host byte order; a command has none. */
struct check_spec {
	enum check_kind kind;
	struct netaddr addr;
	uint16_t port;
	/* Only for http and grpc. The check owns `uri`, which is the name of the service in grpc, and is a user of
	 * `http`. */
	char *uri;
	struct conf_http *http;
	/* Only for command. The configuration owns it. */
	const struct conf_command *command;
	/* Only for gue and fou: the destination of the echo request in the tunnel. */
	struct netaddr inner;
};

/* Everything that all probes of the daemon share. */
struct check_env {
	struct ev_loop *loop;
	const struct conf *conf;
	struct pulse pulse;
	/* Completed TLS handshakes, and those of them that resumed a session. */
	uint64_t handshakes, resumed;
	/* NULL until a check needs it. */
	struct http *http;
	struct tunnel *tunnel;
	struct commands *commands;
};

const char *check_result_name(enum check_result result);
