/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verifies the certificates of one https probe against shared trust, and notes when they expire. http_session.h decides
 * if the probe resumes a session; then no certificate arrives. The thread of the event loop calls the functions. While
 * the transfer runs, only its thread uses the struct. The transfers of a thread share one SSL_CTX.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "healthcheck/checks/http/http_identity.h"
#include "healthcheck/checks/http/http_trust.h"

struct http_tls {
	bool verify;
	/* NULL: nothing is verified. And its certificates, which the transfer holds. */
	const struct http_trust *trust;
	X509_STORE *store;
	/* The client certificate; NULL: none. And the pair that the transfer holds. */
	const struct http_identity *identity;
	struct http_pair pair;
	/* Unix time when the first certificate of the proxy's chain expires; 0: no certificate arrived. */
	int64_t expires_s;
	/* True if the proxy's certificates arrived: the handshake is full. */
	bool full;
};

/* Makes one context of OpenSSL for all transfers of the calling thread, and frees it. */
void http_tls_begin_thread(void);
void http_tls_end_thread(void);

/* True if libcurl uses OpenSSL, which this module needs. */
bool http_tls_usable(void);

/*
 * Makes the next transfer of the handle use `tls`, which must not move, with the certificates that are loaded now. Its
 * trust may be NULL if it does not verify. Returns false if out of memory.
 */
bool http_tls_set(struct http_tls *tls, CURL *easy);

/* Releases what http_tls_set() holds. */
void http_tls_clear(struct http_tls *tls);
