/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The TLS session that the probes of one https check resume. A resumed session takes half the CPU time of a full
 * handshake, but the proxy does not show its certificate again. So there is a full handshake once per period, and
 * whenever the session may be worth less than a new one. libcurl's cache holds the session. All functions are
 * for the thread of the event loop.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "healthcheck/checks/http/http_tls.h"

struct http_session {
	/* libcurl's cache of sessions, which only this check uses; NULL: every handshake is full. */
	CURLSH *share;
	/* Time of clock_now_ms() at which the next probe makes a full handshake. */
	uint64_t due_ms;
	/* The `loads` of the trust and of the client certificate when the session began. */
	uint64_t trust_loads, identity_loads;
	/* Unix time when the first certificate of the proxy's chain expires; 0: unknown. */
	int64_t expires_s;
	/* The cache was emptied for the probe that runs, so its handshake is full. */
	bool empty;
};

/*
 * Chooses the handshake of the next probe. After a failed probe, a new load of `tls`'s certificates, the period, and
 * the expiry of a certificate it is full. `handle` must not use a share yet.
 */
void http_session_use(struct http_session *session, const struct http_tls *tls, bool failed, CURL *handle);

/*
 * Makes the handshake of the next probe full. Returns libcurl's cache, which may be NULL, to be freed when no handle
 * uses it.
 */
CURLSH *http_session_end(struct http_session *session);

/* Notes a completed handshake. `period_ms` is the longest time for which its session is resumed. */
void http_session_note(struct http_session *session, const struct http_tls *tls, unsigned period_ms);
