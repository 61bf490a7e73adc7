/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches pages of metrics over HTTP, many at a time. Blocks until all have come or failed. One thread. */
#pragma once

#include "cli/fleet/samples.h"
#include "common/netaddr.h"

#define FETCH_URL_MAX   320
#define FETCH_ERROR_MAX 256
#define FETCH_PAGE_MAX  ((size_t)64 << 20) /* bytes */
#define FETCH_AT_A_TIME 256 /* pages */

struct fetch {
	char url[FETCH_URL_MAX]; /* set by the caller */
	struct samples samples; /* the caller sets `wanted`; samples_free() */
	struct netaddr from; /* the address from which the page came; only if it has come */
	size_t received; /* bytes */
	bool cut; /* the page ended early, so it is fetched again */
	char error[FETCH_ERROR_MAX]; /* "": the page has come */
};

/* Returns 0, or -errno: libcurl cannot work. timeout_s: for each page; a page that was replaced while it was sent is
 * fetched again. */
int fetch_all(struct fetch *const pages[], size_t count, unsigned timeout_s);
