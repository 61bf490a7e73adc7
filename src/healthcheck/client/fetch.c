/* SPDX-License-Identifier: BSD-3-Clause */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/endpoint.h"
#include "healthcheck/client/client.h"
#include "program/command.h"

#define REPLY_MAX  ((size_t)64 << 20) /* bytes; a reply about the largest table has fewer */
#define TIMEOUT_MS 10000L

struct reply {
	char *text; /* ends with a NUL */
	size_t size;
};

static size_t take(char *bytes, size_t one, size_t count, void *data)
{
	struct reply *reply = data;
	size_t size = one * count;
	char *text = size <= REPLY_MAX - reply->size ? realloc(reply->text, reply->size + size + 1) : NULL;

	if (!text)
		return 0; /* curl reports an error */
	memcpy(text + reply->size, bytes, size);
	reply->text = text;
	reply->size += size;
	text[reply->size] = '\0';
	return size;
}

/* A daemon that listens on all addresses of a family also listens on the loopback address. */
static struct netaddr reachable(const struct netaddr *listen)
{
	static const struct netaddr any4 = {.family = NETADDR_V4}, any6 = {.family = NETADDR_V6};

	if (netaddr_compare(listen, &any4) == 0)
		return (struct netaddr){NETADDR_V4, {127, 0, 0, 1}};
	if (netaddr_compare(listen, &any6) == 0)
		return (struct netaddr){NETADDR_V6, {[15] = 1}};
	return *listen;
}

static bool perform(CURL *curl, const char *url, struct reply *reply)
{
	char why[CURL_ERROR_SIZE] = "";
	CURLcode error;
	long code = 0;

	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	error = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
	if (error)
		command_error("%s: %s: is glb-healthcheck running, with this configuration?", url,
			*why ? why : curl_easy_strerror(error));
	else if (code != 200 || !reply->text)
		command_error("%s: HTTP status %ld: this is not glb-healthcheck", url, code);
	return !error && code == 200 && reply->text;
}

char *client_fetch(const struct conf *conf)
{
	struct netaddr address = reachable(&conf->listen.addr);
	char to[ENDPOINT_TEXT_MAX], url[ENDPOINT_TEXT_MAX + 16];
	struct reply reply = {0};
	CURL *curl;

	if (!conf->listen.has_port) {
		command_error("the configuration has listen = \"none\", so the daemon does not report its status");
		return NULL;
	}
	endpoint_text(&address, conf->listen.port, to);
	snprintf(url, sizeof(url), "http://%s/status", to);
	curl = curl_easy_init();
	if (!curl) {
		command_error("out of memory");
		return NULL;
	}
	if (!perform(curl, url, &reply)) {
		free(reply.text);
		reply.text = NULL;
	}
	curl_easy_cleanup(curl);
	return reply.text;
}
