/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The request of one http or grpc probe and its expected reply, from the http settings of the check. One thread.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "healthcheck/checks/probe.h"

/* Bytes; a larger body fails the check. */
#define HTTP_BODY_MAX ((size_t)1 << 20)

/* Bytes of the status line and all headers; more fail the check. */
#define HTTP_HEAD_MAX ((size_t)64 << 10)

struct http_request {
	CURL *easy;
	struct curl_slist *connect_to, *headers;
	/* Bytes of the body, and of the status line and headers. */
	size_t received, head;
	/* Why the reply is not read to its end; NULL: it is read. */
	const char *refused;
	/* Room for the start of the body; NULL if no text was ever expected with this handle. */
	char *body;
	bool expects_body;
};

/*
 * Sets the options of this probe's request in a handle without options. `to` must not move until the probe ends.
 * Returns false if out of memory or if the URL is too long.
 */
bool http_request_set(struct http_request *to, CURL *easy, const struct probe *probe);

/* Ends the probe as the complete reply deserves. */
void http_request_judge(const struct http_request *request, struct probe *probe);

/* Releases what http_request_set() took for one probe. */
void http_request_clear(struct http_request *request);

void http_request_free(struct http_request *request);
