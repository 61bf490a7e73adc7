/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/check_http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/endpoint.h"
#include "healthcheck/checks/probe.h"
#include "healthcheck/config/conf.h"

#define BODY_MAX ((size_t)1 << 20)
/* The expected text must be in this many bytes at the start of the body. */
#define SEARCH_MAX ((size_t)64 << 10)

struct http {
	struct ev_loop *loop;
	CURLM *multi;
	ev_timer timer;
	struct transfer *idle;
};

/* A curl handle and the probe that uses it. When the probe ends, the handle is kept for the next one. */
struct transfer {
	/* Next in the list of idle transfers. */
	struct transfer *next;
	CURL *easy;
	const struct conf_http *settings;
	struct probe *probe;
	struct curl_slist *connect_to;
	size_t received;
	/* Room for SEARCH_MAX bytes; NULL if no text is expected. */
	char *body;
	char error[CURL_ERROR_SIZE];
};

/* A socket that curl uses, in the event loop. */
struct watch {
	ev_io io;
	struct http *http;
};

static enum check_result result_of(CURLcode code)
{
	switch (code) {
	case CURLE_OK:
		return CHECK_PASSED;
	case CURLE_OPERATION_TIMEDOUT:
		return CHECK_TIMED_OUT;
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		return CHECK_RESET;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
		return CHECK_BAD_TLS;
	case CURLE_FAILED_INIT:
	case CURLE_OUT_OF_MEMORY:
	case CURLE_INTERFACE_FAILED:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ENGINE_INITFAILED:
	case CURLE_URL_MALFORMAT:
		return CHECK_NOT_RUN;
	default:
		return CHECK_BAD_REPLY;
	}
}

static void judge_reply(struct transfer *transfer)
{
	const struct conf_http *http = transfer->probe->spec->http;
	long status = 0;
	char *redirect = NULL;
	size_t searched = transfer->received < SEARCH_MAX ? transfer->received : SEARCH_MAX;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &redirect);
	if (!status_set_has(&http->status, status))
		probe_end(transfer->probe, CHECK_BAD_STATUS, "status %ld%s", status,
			redirect ? ", and redirects are not followed" : "");
	else if (http->body && !memmem(transfer->body, searched, http->body, strlen(http->body)))
		probe_end(transfer->probe, CHECK_BAD_BODY, "status %ld, but no \"%.64s\" in the body", status,
			http->body);
	else
		probe_end(transfer->probe, CHECK_PASSED, "status %ld", status);
}

static void judge(struct transfer *transfer, CURLcode code)
{
	struct probe *probe = transfer->probe;
	long error = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &error);
	if (code == CURLE_OK)
		judge_reply(transfer);
	else if (code == CURLE_WRITE_ERROR)
		probe_end(probe, CHECK_BAD_REPLY, "the body has more than %zu bytes", BODY_MAX);
	else if (code == CURLE_COULDNT_CONNECT && error)
		probe_end_errno(probe, (int)error);
	else if (code == CURLE_COULDNT_CONNECT)
		probe_end(probe, CHECK_NOT_RUN, "%s", transfer->error);
	else
		probe_end(probe, result_of(code), "%s", transfer->error[0] ? transfer->error : curl_easy_strerror(code));
}

/* Judges all transfers that have ended. This may start and stop other transfers. */
static void reap(struct http *http)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(http->multi, &left))) {
		struct transfer *transfer = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
		judge(transfer, message->data.result);
	}
}

static void act(struct http *http, curl_socket_t fd, int events)
{
	int running;

	curl_multi_socket_action(http->multi, fd, events, &running);
	reap(http);
}

static void on_socket(struct ev_loop *loop, ev_io *io, int events)
{
	struct watch *watch = io->data;

	(void)loop;
	act(watch->http, io->fd, (events & EV_READ ? CURL_CSELECT_IN : 0) | (events & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* curl calls this to have a socket watched for `what` (CURL_POLL_*). */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *assigned)
{
	struct http *http = data;
	struct watch *watch = assigned;
	int events = (what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0);

	(void)easy;
	if (watch)
		ev_io_stop(http->loop, &watch->io);
	if (what == CURL_POLL_REMOVE) {
		curl_multi_assign(http->multi, fd, NULL);
		free(watch);
		return 0;
	}
	if (!watch) {
		watch = calloc(1, sizeof(*watch));
		if (!watch)
			return -1;
		watch->http = http;
		curl_multi_assign(http->multi, fd, watch);
	}
	ev_io_init(&watch->io, on_socket, fd, events);
	watch->io.data = watch;
	ev_io_start(http->loop, &watch->io);
	return 0;
}

/*
 * curl calls this to set its timer, or with -1 to stop it. No function of curl's multi handle may be called from here.
 */
static int set_timer(CURLM *multi, long timeout_ms, void *data)
{
	struct http *http = data;

	(void)multi;
	ev_timer_stop(http->loop, &http->timer);
	if (timeout_ms >= 0) {
		ev_timer_set(&http->timer, (double)timeout_ms / 1e3, 0);
		ev_timer_start(http->loop, &http->timer);
	}
	return 0;
}

static size_t take_body(char *bytes, size_t unit, size_t count, void *data)
{
	struct transfer *transfer = data;
	size_t size = unit * count, room;

	if (transfer->received + size > BODY_MAX)
		return 0;
	if (transfer->body && transfer->received < SEARCH_MAX) {
		room = SEARCH_MAX - transfer->received;
		memcpy(transfer->body + transfer->received, bytes, size < room ? size : room);
	}
	transfer->received += size;
	return size;
}

/* Sets the options that are the same for every probe. They stay in the handle. */
static struct transfer *new_transfer(const struct conf_http *settings)
{
	struct transfer *transfer = calloc(1, sizeof(*transfer));

	if (!transfer)
		return NULL;
	transfer->easy = curl_easy_init();
	if (!transfer->easy) {
		free(transfer);
		return NULL;
	}
	transfer->settings = settings;
	curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(transfer->easy, CURLOPT_ERRORBUFFER, transfer->error);
	curl_easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(transfer->easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(transfer->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(transfer->easy, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(transfer->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(transfer->easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(transfer->easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(transfer->easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(transfer->easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	curl_easy_setopt(transfer->easy, CURLOPT_BUFFERSIZE, 4096L);
	curl_easy_setopt(transfer->easy, CURLOPT_USERAGENT, "glb-healthcheck/" GLB_VERSION);
	return transfer;
}

/* `to` is the proxy's ADDRESS:PORT. Returns false if out of memory or if the URL is too long. */
static bool set_url(CURL *easy, const struct check_spec *spec, const char *to)
{
	const char *scheme = spec->http->tls ? "https" : "http", *host = spec->http->host;
	char url[4096];
	int size = host ? snprintf(url, sizeof(url), "%s://%s:%u%s", scheme, host, spec->port, spec->uri)
			: snprintf(url, sizeof(url), "%s://%s%s", scheme, to, spec->uri);

	return (size_t)size < sizeof(url) && curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK;
}

/*
 * If a host name is configured, it goes into the URL, so that curl sends it in the Host header and SNI. The connection
 * still goes to the proxy's address.
 */
static bool set_target(struct transfer *transfer, const struct check_spec *spec)
{
	char to[ENDPOINT_TEXT_MAX], connect_to[ENDPOINT_TEXT_MAX + 2];

	endpoint_text(&spec->addr, spec->port, to);
	if (spec->http->host) {
		snprintf(connect_to, sizeof(connect_to), "::%s", to);
		transfer->connect_to = curl_slist_append(NULL, connect_to);
		if (!transfer->connect_to)
			return false;
	}
	curl_easy_setopt(transfer->easy, CURLOPT_CONNECT_TO, transfer->connect_to);
	return set_url(transfer->easy, spec, to);
}

static bool set_options(struct transfer *transfer, const struct probe *probe)
{
	const struct conf_http *http = probe->spec->http;
	const struct netaddr *source = conf_source(probe->env->conf, probe->spec->addr.family);
	char ip[NETADDR_TEXT_MAX], from[NETADDR_TEXT_MAX + 8] = "";

	if (source)
		snprintf(from, sizeof(from), "host!%s", netaddr_format(source, ip));
	curl_easy_setopt(transfer->easy, CURLOPT_INTERFACE, source ? from : NULL);
	curl_easy_setopt(transfer->easy, CURLOPT_SSL_VERIFYPEER, http->verify ? 1L : 0L);
	curl_easy_setopt(transfer->easy, CURLOPT_SSL_VERIFYHOST, http->verify ? 2L : 0L);
	if (http->ca_file) {
		curl_easy_setopt(transfer->easy, CURLOPT_CAINFO, http->ca_file);
		curl_easy_setopt(transfer->easy, CURLOPT_CAPATH, NULL);
	}
	if (http->body && !transfer->body)
		transfer->body = malloc(SEARCH_MAX);
	return set_target(transfer, probe->spec) && (transfer->body || !http->body);
}

/*
 * Returns an idle handle that was used with the same settings, or a new one. A handle keeps its settings because curl
 * cannot unset a CA file.
 */
static struct transfer *take_idle(struct http *http, const struct conf_http *settings)
{
	for (struct transfer **at = &http->idle; *at; at = &(*at)->next) {
		struct transfer *transfer = *at;

		if (transfer->settings == settings) {
			*at = transfer->next;
			return transfer;
		}
	}
	return new_transfer(settings);
}

static void start(struct probe *probe)
{
	struct http *http = probe->env->http;
	struct transfer *transfer = take_idle(http, probe->spec->http);

	if (!transfer) {
		probe_end(probe, CHECK_NOT_RUN, "out of memory");
		return;
	}
	transfer->probe = probe;
	transfer->received = 0;
	transfer->error[0] = '\0';
	probe->state = transfer;
	if (!set_options(transfer, probe) || curl_multi_add_handle(http->multi, transfer->easy) != CURLM_OK)
		probe_end(probe, CHECK_NOT_RUN, "out of memory");
}

static void stop(struct probe *probe)
{
	struct http *http = probe->env->http;
	struct transfer *transfer = probe->state;

	if (!transfer)
		return;
	curl_multi_remove_handle(http->multi, transfer->easy);
	curl_slist_free_all(transfer->connect_to);
	transfer->connect_to = NULL;
	transfer->probe = NULL;
	transfer->next = http->idle;
	http->idle = transfer;
	probe->state = NULL;
}

struct http *http_open(struct ev_loop *loop, struct faults *faults)
{
	struct http *http = calloc(1, sizeof(*http));

	if (http && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		http->multi = curl_multi_init();
	if (!http || !http->multi) {
		faults_error(faults, NULL, "cannot initialize libcurl, which http checks need");
		free(http);
		return NULL;
	}
	http->loop = loop;
	ev_timer_init(&http->timer, on_timer, 0, 0);
	http->timer.data = http;
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	return http;
}

void http_close(struct http *http)
{
	struct transfer *transfer;

	if (!http)
		return;
	while ((transfer = http->idle)) {
		http->idle = transfer->next;
		curl_easy_cleanup(transfer->easy);
		free(transfer->body);
		free(transfer);
	}
	curl_multi_cleanup(http->multi);
	ev_timer_stop(http->loop, &http->timer);
	curl_global_cleanup();
	free(http);
}

const struct probe_method check_http = {start, stop};
