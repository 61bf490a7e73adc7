/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small HTTP server for pages that only report: GET and HEAD, no files, no requests with a body. It runs in the
 * caller's event loop, without threads: the caller waits for http_server_descriptor() and calls http_server_run(). A
 * page is written in pieces, when the client can take them, so that neither a large page nor a slow client holds up the
 * caller. If too many clients are connected, those that wait the longest for nothing are disconnected. On a loopback
 * address it refuses requests for other hosts, see http_host.h. One thread for each server.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/netaddr.h"

enum http_more {
	/* There is more to write. */
	HTTP_MORE,
	/* The page is complete. */
	HTTP_END,
	/* The page cannot be finished, because its subject has changed. The client sees that its transfer is
	 * incomplete. */
	HTTP_ABORT,
};

#define HTTP_NO_NUMBER UINT32_MAX /* no path has it */

struct http_route {
	/* Without a query, as "/metrics". After "/tables/#" a number follows in the place of #. NULL ends an array of
	 * routes. */
	const char *path;
	/* The route is only for requests whose header Accept names this media type; NULL: for all. The first match
	 * counts. */
	const char *accept;
	/* Content-Type */
	const char *type;
	/* Content-Security-Policy of a page for browsers; NULL: none. */
	const char *policy;
	/* Bytes of memory for each page that is being written. The server owns it and fills it with zeros. */
	size_t state_size;
	/* Called before the first piece, with the number in the path or, if the path has none, that of the route.
	 * `context` is that of the server. False: there is no page with this number in its path; or out of memory. */
	bool (*begin)(void *state, void *context, uint32_t number);
	uint32_t number;
	/* Writes the next part of the page, a few kilobytes or less. It is called again until it does not return
	 * HTTP_MORE. */
	enum http_more (*write)(void *state, FILE *to);
	/* Called once if begin() returned true. NULL: nothing to do. */
	void (*end)(void *state);
};

struct http_server;

/*
 * Listens. `routes` and `context` must exist until http_server_close(). Returns 0, or -errno: -EADDRINUSE if another
 * process listens there, -EADDRNOTAVAIL if no interface has the address.
 */
int http_server_open(struct http_server **server, const struct netaddr *address, uint16_t port,
	const struct http_route *routes, void *context);

/* Returns a file descriptor that is readable when http_server_run() has something to do. */
int http_server_descriptor(const struct http_server *server);

/*
 * Does what can be done without waiting. Returns after how many milliseconds it must be called again, even if the file
 * descriptor is not readable; -1: never.
 */
int http_server_run(struct http_server *server);

/* Disconnects all clients. NULL: does nothing. */
void http_server_close(struct http_server *server);
