/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of checks, what one of them checks, and the results of its probes (probe.h). Checks know nothing of tables,
 * schedules or verdicts. */
#ifndef GLB_HEALTHCHECK_CHECKS_CHECK_H
#define GLB_HEALTHCHECK_CHECKS_CHECK_H

#include <stdint.h>

#include "common/netaddr.h"

/* Symbol, name in metrics and status, what it means. */
#define CHECK_RESULTS(X)                                                                   \
	X(PASSED, "passed", "the answer that was expected")                                \
	X(TIMED_OUT, "timeout", "no (whole) answer in time")                               \
	X(REFUSED, "refused", "nobody listens on the port")                                \
	X(RESET, "reset", "the connection was reset, or closed without an answer")         \
	X(UNREACHABLE, "unreachable", "no way to the host")                                \
	X(BAD_STATUS, "bad_status", "an HTTP status outside the expected set")             \
	X(BAD_BODY, "bad_body", "the expected text is not in the body")                    \
	X(BAD_TLS, "bad_tls", "no TLS, or a certificate that is not trusted for the name") \
	X(BAD_REPLY, "bad_reply", "an answer that breaks the protocol, or is too large")   \
	X(NOT_RUN, "not_run", "could not be tried for a local reason; says nothing about the proxy")

enum check_result {
#define X(symbol, name, help) CHECK_##symbol,
	CHECK_RESULTS(X)
#undef X
		CHECK_RESULT_COUNT
};

enum check_kind { CHECK_HTTP, CHECK_TCP, CHECK_GUE, CHECK_FOU, CHECK_KIND_COUNT };

struct conf;
struct conf_http;
struct ev_loop;
struct http;
struct tunnel;

/* What is checked. */
struct check_spec {
	enum check_kind kind;
	struct netaddr addr;
	uint16_t port;
	char *uri; /* http; owned */
	const struct conf_http *http; /* http */
	struct netaddr inner; /* gue, fou: who is pinged in the tunnel */
};

/* What the probes of one daemon share. */
struct check_env {
	struct ev_loop *loop;
	const struct conf *conf;
	struct http *http; /* NULL until a check needs it */
	struct tunnel *tunnel; /* likewise */
};

const char *check_result_name(enum check_result result);
const char *check_kind_name(enum check_kind kind);

#endif
