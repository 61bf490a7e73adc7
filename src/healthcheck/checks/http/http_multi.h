/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs libcurl's multi handle in the event loop, which watches libcurl's sockets and timer. The caller adds and removes
 * easy handles. One thread.
 */
#ifndef GLB_HEALTHCHECK_CHECKS_HTTP_MULTI_H
#define GLB_HEALTHCHECK_CHECKS_HTTP_MULTI_H

#include <curl/curl.h>
#include <ev.h>
#include <stdbool.h>

struct http_multi {
	struct ev_loop *loop;
	CURLM *multi;
	ev_timer timer;
	/* Called for each transfer that has ended. It may start and stop transfers. */
	void (*ended)(CURL *easy, CURLcode code);
};

/* `to` must not move until it is closed. Returns false on failure, and then there is nothing to close. */
bool http_multi_open(struct http_multi *to, struct ev_loop *loop, void (*ended)(CURL *easy, CURLcode code));

/* All easy handles must be removed. */
void http_multi_close(struct http_multi *multi);

#endif
