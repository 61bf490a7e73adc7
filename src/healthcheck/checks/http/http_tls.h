/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verifies the certificates of one https probe against shared trust, and notes when they expire. http_session.h decides if
 * the probe resumes a session; then no certificate arrives. The connections of libcurl share one SSL_CTX. One thread.
 */
#ifndef GLB_HEALTHCHECK_CHECKS_HTTP_TLS_H
#define GLB_HEALTHCHECK_CHECKS_HTTP_TLS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "healthcheck/checks/http/http_identity.h"
#include "healthcheck/checks/http/http_trust.h"

struct http_tls {
	/* NULL: nothing is verified. Its store may be replaced until the connection takes a reference. */
	const struct http_trust *trust;
	bool verify;
	/* The client certificate; NULL: none. It may be replaced likewise. */
	struct http_identity *identity;
	/* Unix time when the first certificate of the proxy's chain expires; 0: no certificate arrived. */
	int64_t expires_s;
	/* True if the proxy's certificates arrived: the handshake is full. */
	bool full;
};

/* True if libcurl uses OpenSSL, which this module needs. */
bool http_tls_usable(void);

/* Makes the next transfer of the handle use `tls`, which must not move. Its trust may be NULL if it does not verify. */
void http_tls_set(struct http_tls *tls, CURL *easy);

/* True while libcurl connects: SSL_CTX_new() then returns the shared context. Else each caller of SSL_CTX_new() gets its own. */
void http_tls_lend(bool lend);

/* Frees the shared context. Connections that are open keep a reference to it. */
void http_tls_forget(void);

#endif
