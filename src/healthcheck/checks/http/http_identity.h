/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client certificates of https checks, with their keys. A pair is parsed once and shared by all probes. It is read
 * again when one of its files changes. If the files do not fit together, the last good pair stays in use, because
 * whoever replaces them may not be done. All functions are for the thread of the event loop.
 */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "healthcheck/watch/watch.h"

#define HTTP_IDENTITY_ERROR_MAX 512

/* References to a certificate, to the certificates that lead to its issuer, and to its key; NULL: there is no
 * certificate. */
struct http_pair {
	X509 *cert;
	STACK_OF(X509) * chain;
	EVP_PKEY *key;
};

struct http_identity {
	struct http_identity *next;
	char *cert_file, *key_file;
	/* What the last load that succeeded found. */
	struct http_pair pair;
	uint64_t loads;
	/* Why the files were refused; "" if they were loaded. It names the files, and nothing of their content. */
	char error[HTTP_IDENTITY_ERROR_MAX];
	struct watch watches[2];
};

/*
 * Returns the identity of these files in *list, which it loads if it is new. If `loop` is not NULL, the files are
 * watched. Returns NULL if out of memory.
 */
struct http_identity *http_identity_of(
	struct http_identity **list, const char *cert_file, const char *key_file, struct ev_loop *loop);

/* Reads the files again. */
void http_identity_load(struct http_identity *identity);

/* Returns references to the pair, which a later load does not change. Returns no pair if out of memory. */
struct http_pair http_pair_hold(const struct http_pair *pair);

void http_pair_free(struct http_pair *pair);

void http_identity_free(struct http_identity **list);
