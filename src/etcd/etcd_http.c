/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "etcd/etcd_core.h"

#define REPLY_MAX ((size_t)32 << 20) /* bytes of a reply or of a line; a value of ETCD_VALUE_MAX has 11 MB in base64 */
#define ROOM_KEEP ((size_t)64 << 10) /* an empty buffer that is larger is freed */

_Static_assert(sizeof(((struct etcd_http *)0)->error) >= CURL_ERROR_SIZE, "libcurl writes its error there");

static size_t take(char *bytes, size_t one, size_t size, void *data)
{
	struct etcd_http *http = data;
	size_t kept = http->size - http->dropped, needed = kept + size * one, room = http->room ? http->room : 4096;
	char *larger = http->bytes;

	if (http->dropped)
		memmove(http->bytes, http->bytes + http->dropped, kept);
	http->dropped = 0;
	http->size = kept;
	while (room < needed)
		room *= 2;
	if (needed > REPLY_MAX)
		return 0; /* libcurl ends the transfer */
	if (room != http->room)
		larger = realloc(http->bytes, room);
	if (!larger)
		return 0;
	http->bytes = larger;
	http->room = room;
	memcpy(http->bytes + http->size, bytes, size * one);
	http->size = needed;
	return size * one;
}

static bool add_header(struct etcd_http *http, const char *name, const char *value)
{
	char line[4096];
	bool fits = (size_t)snprintf(line, sizeof(line), "%s:%s", name, value) < sizeof(line);
	struct curl_slist *more = fits ? curl_slist_append(http->headers, line) : NULL;

	if (more)
		http->headers = more;
	return more;
}

static void set_tls(CURL *easy, const struct etcd_conf *conf)
{
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L); /* a new CA file counts at once */
	if (conf->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, conf->ca_file);
	curl_easy_setopt(easy, CURLOPT_SSLCERT, conf->cert_file);
	curl_easy_setopt(easy, CURLOPT_SSLKEY, conf->key_file);
}

/* libcurl does not follow redirects unless told, and unpacks nothing that it did not ask for. */
static void set_options(struct etcd_http *http, unsigned timeout_ms, bool stream, bool once)
{
	CURL *easy = http->easy;

	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* not that of the environment */
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* Do not wait for the thread that asks a DNS server that does not reply: the lease would end meanwhile. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, http->headers);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)timeout_ms);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, stream ? 0 : (long)timeout_ms);
	/* libcurl itself repeats a request if an old connection turns out to be closed, which may be after etcd has
	 * carried it out. */
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, once ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, http->error);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, http);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, http);
}

static bool set_request(struct etcd_http *http, const char *endpoint, const char *path, const char *request)
{
	char url[1024];

	snprintf(url, sizeof(url), "%s%s", endpoint, path);
	curl_easy_setopt(http->easy, CURLOPT_URL, url);
	curl_easy_setopt(http->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(request));
	return curl_easy_setopt(http->easy, CURLOPT_COPYPOSTFIELDS, request) == CURLE_OK;
}

struct etcd_http *etcd_http_start(
	struct etcd *etcd, const char *path, const char *request, bool stream, bool once, void *call)
{
	struct etcd_http *http = calloc(1, sizeof(*http));

	if (!http)
		return NULL;
	*http = (struct etcd_http){.multi = etcd->multi, .call = call, .easy = curl_easy_init()};
	/* A member without a leader then refuses at once, and ends watches: else it is silent. */
	if (http->easy && add_header(http, "Grpc-Metadata-hasleader", " true") &&
		add_header(http, "Content-Type", " application/json") && add_header(http, "Expect", "") &&
		(!etcd->token || !*etcd->token || add_header(http, "Authorization", etcd->token)) &&
		set_request(http, etcd->conf->endpoints[etcd->endpoint], path, request)) {
		set_options(http, etcd->conf->timeout_ms, stream, once);
		set_tls(http->easy, etcd->conf);
		if (curl_multi_add_handle(http->multi, http->easy) == CURLM_OK)
			return http;
	}
	etcd_http_end(http);
	return NULL;
}

void etcd_http_end(struct etcd_http *http)
{
	if (!http)
		return;
	curl_multi_remove_handle(http->multi, http->easy);
	curl_easy_cleanup(http->easy);
	curl_slist_free_all(http->headers);
	free(http->bytes);
	free(http);
}

void *etcd_http_perform(struct etcd *etcd)
{
	struct etcd_http *http;
	CURLMsg *message;
	int left;

	curl_multi_perform(etcd->multi, &left);
	message = curl_multi_info_read(etcd->multi, &left);
	if (!message)
		return NULL;
	curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &http);
	http->code = (int)message->data.result;
	return http->call;
}

long etcd_http_status(const struct etcd_http *http)
{
	long status = 0;

	curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

void etcd_http_drop(struct etcd_http *http, size_t size)
{
	http->dropped += size;
	if (http->dropped < http->size)
		return;
	http->dropped = http->size = 0;
	if (http->room > ROOM_KEEP) {
		free(http->bytes);
		http->bytes = NULL;
		http->room = 0;
	}
}

static const char *hint_for(CURLcode code)
{
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		return "check the load and the network of etcd, or set a larger timeout_ms";
	case CURLE_PEER_FAILED_VERIFICATION:
		return "check etcd's certificate, ca_file, the name in endpoints, and the clock of this host";
	case CURLE_WRITE_ERROR:
		return "the reply is larger than 32 MB";
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
		return "check whether etcd expects HTTPS and a client certificate: ca_file, cert_file, key_file";
	default:
		return "check endpoints, and that etcd runs there";
	}
}

enum etcd_result etcd_http_result(struct etcd *etcd, size_t endpoint, const struct etcd_http *http, bool *sent)
{
	CURLcode code = (CURLcode)http->code;
	long size = 0;

	if (code == CURLE_OK)
		return ETCD_DONE;
	curl_easy_getinfo(http->easy, CURLINFO_REQUEST_SIZE, &size);
	*sent = size > 0;
	etcd_say(etcd, endpoint, "%s; %s", *http->error ? http->error : curl_easy_strerror(code), hint_for(code));
	return code == CURLE_WRITE_ERROR ? ETCD_TOO_LARGE : ETCD_UNREACHABLE;
}
