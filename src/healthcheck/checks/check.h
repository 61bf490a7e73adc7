/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between a check and who wants to know. A check is asked to start a probe, never
 * blocks, and ends it by exactly one probe_end(). It knows nothing of tables, schedules or
 * verdicts. One thread: that of the loop.
 */
#ifndef GLB_HEALTHCHECK_CHECKS_CHECK_H
#define GLB_HEALTHCHECK_CHECKS_CHECK_H

#include <ev.h>
#include <stdbool.h>
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
struct http;
struct tunnel;
struct probe;

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

struct check_method {
	const char *name;
	/* Sends the first packet, or ends the probe at once. */
	void (*start)(struct probe *probe);
	/* Releases what start took; nothing of the probe may happen afterwards. */
	void (*stop)(struct probe *probe);
};

#define PROBE_REASON_MAX 160

struct probe {
	struct check_env *env;
	const struct check_spec *spec;
	void (*done)(struct probe *probe); /* the three members below are set */
	enum check_result result;
	char reason[PROBE_REASON_MAX];
	uint64_t latency_us;
	/* The rest belongs to probe.c and the method. */
	bool running;
	uint64_t started_us;
	ev_timer timeout;
	bool overdue; /* the time is over; the loop looks at the sockets once more */
	void *state;
};

/* The result comes by probe->done, perhaps before this returns. */
void probe_start(struct probe *probe, unsigned timeout_ms);

/* No result will come. */
void probe_cancel(struct probe *probe);

/* For methods: the end, after which the method is stopped. */
void probe_end(struct probe *probe, enum check_result result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for an errno of a socket towards the proxy. */
void probe_end_errno(struct probe *probe, int error);

const char *check_result_name(enum check_result result);
const char *check_kind_name(enum check_kind kind);

extern const struct check_method check_http, check_tcp, check_gue, check_fou;

#endif
