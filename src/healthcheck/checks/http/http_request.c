/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/http/http_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/endpoint.h"
#include "healthcheck/checks/grpc/grpc_request.h"
#include "healthcheck/config/conf.h"

/* The expected text must be in this many bytes at the start of the body. */
#define SEARCH_MAX ((size_t)64 << 10)

/* Bytes. If libcurl 7.88 has a smaller buffer, it waits for the socket although it has the rest of a frame. */
#define HTTP2_FRAME_MAX 16384L

static size_t take_head(char *, size_t unit, size_t count, void *data)
{
	struct http_request *request = data;

	request->head += unit * count;
	if (request->head <= HTTP_HEAD_MAX)
		return unit * count;
	request->refused = "the headers have more than 65536 bytes";
	return 0;
}

static size_t take_body(char *bytes, size_t unit, size_t count, void *data)
{
	struct http_request *request = data;
	size_t size = unit * count, room;

	if (request->received + size > HTTP_BODY_MAX) {
		request->refused = "the body has more than 1048576 bytes";
		return 0;
	}
	if (request->expects_body && request->received < SEARCH_MAX) {
		room = SEARCH_MAX - request->received;
		memcpy(request->body + request->received, bytes, size < room ? size : room);
	}
	request->received += size;
	return size;
}

/* `to` is the proxy's ADDRESS:PORT. Returns false if out of memory or if the URL is too long. */
static bool set_url(CURL *easy, const struct check_spec *spec, const char *to)
{
	const char *scheme = spec->http->tls ? "https" : "http", *host = spec->http->host;
	const char *path = spec->kind == CHECK_GRPC ? GRPC_PATH : spec->uri;
	char url[4096];
	int size = host ? snprintf(url, sizeof(url), "%s://%s:%u%s", scheme, host, spec->port, path)
			: snprintf(url, sizeof(url), "%s://%s%s", scheme, to, path);

	return (size_t)size < sizeof(url) && curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK;
}

/*
 * If a host name is configured, it goes into the URL, so that curl sends it in the Host header and SNI. The connection
 * still goes to the proxy's address.
 */
static bool set_target(struct http_request *request, const struct check_spec *spec)
{
	char to[ENDPOINT_TEXT_MAX], connect_to[ENDPOINT_TEXT_MAX + 2];

	endpoint_text(&spec->addr, spec->port, to);
	if (spec->http->host) {
		snprintf(connect_to, sizeof(connect_to), "::%s", to);
		request->connect_to = curl_slist_append(NULL, connect_to);
		if (!request->connect_to)
			return false;
	}
	curl_easy_setopt(request->easy, CURLOPT_CONNECT_TO, request->connect_to);
	return set_url(request->easy, spec, to);
}

/* Splits the settings' headers into lines for curl. Returns false if out of memory. */
static bool set_headers(struct http_request *request, const char *headers)
{
	char *copy = strdup(headers), *rest = copy, *line;
	bool good = copy;

	while (good && (line = strsep(&rest, "\n")) && *line) {
		struct curl_slist *longer = curl_slist_append(request->headers, line);

		good = longer;
		if (longer)
			request->headers = longer;
	}
	free(copy);
	curl_easy_setopt(request->easy, CURLOPT_HTTPHEADER, request->headers);
	return good;
}

static bool set_method(struct http_request *request, const struct conf_http *http)
{
	long version = !http->http2 ? CURL_HTTP_VERSION_1_1
		       : http->tls  ? CURL_HTTP_VERSION_2TLS
				    : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;

	curl_easy_setopt(request->easy, CURLOPT_HTTP_VERSION, version);
	curl_easy_setopt(request->easy, CURLOPT_NOBODY, strcmp(http->method, "HEAD") == 0 ? 1L : 0L);
	curl_easy_setopt(request->easy, CURLOPT_CUSTOMREQUEST, http->method);
	return !http->headers || set_headers(request, http->headers);
}

bool http_request_set(struct http_request *to, CURL *easy, const struct probe *probe)
{
	const struct conf_http *http = probe->spec->http;
	bool grpc = probe->spec->kind == CHECK_GRPC;

	*to = (struct http_request){.easy = easy, .body = to->body, .expects_body = grpc || http->body};
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "glb-healthcheck/" GLB_VERSION);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, grpc || http->http2 ? HTTP2_FRAME_MAX : 4096L);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_head);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, to);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, to);
	if (to->expects_body && !to->body)
		to->body = malloc(SEARCH_MAX);
	return (grpc ? grpc_request_set(to, probe) : set_method(to, http)) && set_target(to, probe->spec) &&
	       (to->body || !to->expects_body);
}

/* Over TLS, the proxy chooses the version of HTTP. */
static bool is_version(const struct http_request *request, const struct conf_http *http)
{
	long version = 0;

	curl_easy_getinfo(request->easy, CURLINFO_HTTP_VERSION, &version);
	return !http->http2 || version == CURL_HTTP_VERSION_2;
}

void http_request_judge(const struct http_request *request, struct probe *probe)
{
	const struct conf_http *http = probe->spec->http;
	long status = 0;
	char *redirect = NULL;
	size_t searched = request->received < SEARCH_MAX ? request->received : SEARCH_MAX;

	curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(request->easy, CURLINFO_REDIRECT_URL, &redirect);
	if (!is_version(request, http))
		probe_end(probe, CHECK_BAD_REPLY, "the proxy does not offer HTTP/2");
	else if (!status_set_has(&http->status, status))
		probe_end(probe, CHECK_BAD_STATUS, "status %ld%s", status,
			redirect ? ", and redirects are not followed" : "");
	else if (http->body && !memmem(request->body, searched, http->body, strlen(http->body)))
		probe_end(probe, CHECK_BAD_BODY, "status %ld, but no \"%.64s\" in the body", status, http->body);
	else
		probe_end(probe, CHECK_PASSED, "status %ld", status);
}

void http_request_clear(struct http_request *request)
{
	curl_slist_free_all(request->connect_to);
	curl_slist_free_all(request->headers);
	request->connect_to = request->headers = NULL;
}

void http_request_free(struct http_request *request)
{
	http_request_clear(request);
	free(request->body);
	request->body = NULL;
}
