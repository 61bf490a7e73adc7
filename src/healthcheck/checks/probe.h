/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A probe is one run of a check. The caller fills env, spec, method and done, and calls probe_start(). The method sends
 * the packets, never blocks, and ends the probe with exactly one probe_end(). Everything runs in the event loop's
 * thread.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "healthcheck/checks/check.h"

#define PROBE_REASON_MAX 160

struct probe;

/* How a kind of check runs a probe. */
struct probe_method {
	/* Sends the first packet, or ends the probe at once. */
	void (*start)(struct probe *probe);
	/* Releases what start() took. The method does nothing more for this probe. */
	void (*stop)(struct probe *probe);
	/* Frees what the method keeps from one probe of a check to the next; NULL: nothing. */
	void (*forget)(struct probe *probe);
};

/* How each kind of check runs, and the methods by their names. */
extern const struct probe_method *const check_methods[CHECK_KIND_COUNT];
#define X(symbol, method, ...) extern const struct probe_method check_##method;
CHECK_KINDS(X)
#undef X

struct probe {
	struct check_env *env;
	const struct check_spec *spec;
	const struct probe_method *method;
	/* Called once at the end, with the four members below set. */
	void (*done)(struct probe *probe);
	enum check_result result;
	char reason[PROBE_REASON_MAX];
	uint64_t latency_us;
	/* Unix time when the first certificate of the proxy's chain expires; 0: none arrived. */
	int64_t tls_expires_s;
	/* Follows the reason of a timeout, and begins with ": ". Usually "". start() of the method may set it. */
	const char *timeout_hint;
	/* The rest belongs to probe.c. */
	bool running;
	uint64_t started_us, timeout_us;
	/* The pulse's stalls before the start. */
	uint64_t stalled_us;
	ev_timer timeout;
	/* The timeout is over. The loop looks at the sockets once more before the probe ends. */
	bool overdue;
	/* Belong to the method: of this run, and of all runs. */
	void *state, *kept;
};

/* Starts a probe that is not running. Calls done() when it ends, perhaps before this returns. */
void probe_start(struct probe *probe, unsigned timeout_ms);

/* Stops the probe if it is running, and frees what the method keeps. done() is not called. */
void probe_close(struct probe *probe);

/* For methods: ends the probe with a result and its reason, stops the method and calls done(). */
void probe_end(struct probe *probe, enum check_result result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* For methods: ends the probe with an error of a socket call. The result and the reason follow from the errno. */
void probe_end_errno(struct probe *probe, int error);
