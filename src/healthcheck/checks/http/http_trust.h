/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The certificates that https checks trust. Each file is parsed once and shared by all probes, because parsing the
 * system's file takes 30 ms. A file that changes is read again. If it cannot be used, the last good content stays in
 * use. One thread.
 */
#pragma once

#include <openssl/x509_vfy.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "healthcheck/watch/watch.h"

#define HTTP_TRUST_ERROR_MAX 512

struct http_trust {
	struct http_trust *next;
	/* The file, and for the system's trust also a folder with hashed names, or NULL. */
	char *file, *folder;
	bool system;
	/* The content of the last load that succeeded; NULL: none did. */
	X509_STORE *store;
	/* Why the file was refused; "" if it was loaded. */
	char error[HTTP_TRUST_ERROR_MAX];
	uint64_t loads, refused;
	/* The file at the last load. */
	struct stat seen;
	struct watch watch;
};

/*
 * Returns the trust of this file in *list, which it loads if it is new; NULL: the system's. If `loop` is not NULL, the
 * file is watched. Returns NULL if out of memory.
 */
struct http_trust *http_trust_of(struct http_trust **list, const char *ca_file, struct ev_loop *loop);

/* Reads the file again. */
void http_trust_load(struct http_trust *trust);

void http_trust_free(struct http_trust **list);
