/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/check_http.h"

#include <curl/curl.h>
#include <stdlib.h>

#include "healthcheck/checks/error_result.h"
#include "healthcheck/checks/http/http_multi.h"
#include "healthcheck/checks/http/http_request.h"
#include "healthcheck/checks/http/http_session.h"
#include "healthcheck/checks/http/http_tls.h"
#include "healthcheck/config/conf.h"
#include "healthcheck/grpc/grpc_request.h"

struct http {
	struct http_multi multi;
	struct transfer *idle;
	struct http_trust *trust;
	struct http_identity *identities;
	/* True: files of certificates are read again when they change. */
	bool watch;
};

/* A curl handle and the probe that uses it. When the probe ends, the handle is kept for the next one. */
struct transfer {
	/* Next in the list of idle transfers. */
	struct transfer *next;
	CURL *easy;
	struct probe *probe;
	struct http_request request;
	struct http_tls tls;
	char error[CURL_ERROR_SIZE];
};

/* True if this host has memory, so that CURLE_OUT_OF_MEMORY means a line of the reply that libcurl does not take. */
static bool has_memory(void)
{
	void *volatile room = malloc(HTTP_BODY_MAX);

	free(room);
	return room;
}

static void judge_error(struct transfer *transfer, CURLcode code)
{
	struct probe *probe = transfer->probe;
	curl_off_t ready_us = 0;
	long error = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &error);
	curl_easy_getinfo(transfer->easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
	if (transfer->request.refused)
		probe_end(probe, CHECK_BAD_REPLY, "%s", transfer->request.refused);
	else if (code == CURLE_OUT_OF_MEMORY && !has_memory())
		probe_end(probe, CHECK_NOT_RUN, "out of memory");
	else if (code == CURLE_OUT_OF_MEMORY)
		probe_end(probe, CHECK_BAD_REPLY, "a line of the reply is too long");
	else if (code == CURLE_COULDNT_CONNECT && error)
		probe_end_errno(probe, (int)error);
	else
		probe_end(probe, error_result_curl((int)code, ready_us > 0), "%s",
			transfer->error[0] ? transfer->error : curl_easy_strerror(code));
}

static curl_off_t reached_us(const struct transfer *transfer, CURLINFO point)
{
	curl_off_t us = 0;

	curl_easy_getinfo(transfer->easy, point, &us);
	return us;
}

static void note_handshake(struct transfer *transfer)
{
	struct probe *probe = transfer->probe;

	probe->tls_expires_s = transfer->tls.expires_s;
	if (reached_us(transfer, CURLINFO_APPCONNECT_TIME_T) <= 0)
		return;
	probe->env->handshakes++;
	if (!transfer->tls.full)
		probe->env->resumed++;
	if (probe->kept)
		http_session_note(probe->kept, &transfer->tls, probe->env->conf->full_handshake_ms);
}

/* True if the proxy may have failed only because the handshake began with a session. */
static bool is_fault_of_session(const struct transfer *transfer, CURLcode code)
{
	const struct http_session *session = transfer->probe->kept;

	return code != CURLE_OK && code != CURLE_COULDNT_CONNECT && session && session->share && !session->empty &&
	       !transfer->tls.full && reached_us(transfer, CURLINFO_APPCONNECT_TIME_T) <= 0;
}

/* Repeats the request with a full handshake, so that a proxy that cannot resume sessions is not blamed. */
static bool repeat(struct transfer *transfer)
{
	CURLM *multi = transfer->probe->env->http->multi.multi;

	curl_multi_remove_handle(multi, transfer->easy);
	curl_easy_setopt(transfer->easy, CURLOPT_SHARE, NULL);
	http_session_use(transfer->probe->kept, &transfer->tls, true, transfer->easy);
	transfer->error[0] = '\0';
	return curl_multi_add_handle(multi, transfer->easy) == CURLM_OK;
}

static void on_ended(CURL *easy, CURLcode code)
{
	struct transfer *transfer = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
	if (is_fault_of_session(transfer, code) && repeat(transfer))
		return;
	note_handshake(transfer);
	if (code != CURLE_OK)
		judge_error(transfer, code);
	else if (transfer->probe->spec->kind == CHECK_GRPC)
		grpc_request_judge(&transfer->request, transfer->probe);
	else
		http_request_judge(&transfer->request, transfer->probe);
}

static void free_transfer(struct transfer *transfer)
{
	http_request_free(&transfer->request);
	curl_easy_cleanup(transfer->easy);
	free(transfer);
}

/* Returns an idle handle or a new one, with no options set. */
static struct transfer *take_transfer(struct http *http)
{
	struct transfer *transfer = http->idle;

	if (transfer) {
		http->idle = transfer->next;
		curl_easy_reset(transfer->easy);
		return transfer;
	}
	transfer = calloc(1, sizeof(*transfer));
	if (!transfer)
		return NULL;
	transfer->easy = curl_easy_init();
	if (transfer->easy)
		return transfer;
	free(transfer);
	return NULL;
}

static void set_connection(struct transfer *transfer, const struct probe *probe)
{
	const struct netaddr *source = conf_source(probe->env->conf, probe->spec->addr.family);
	CURL *easy = transfer->easy;
	char ip[NETADDR_TEXT_MAX], from[NETADDR_TEXT_MAX + 8];

	curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	transfer->error[0] = '\0';
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	/* libcurl would keep the addresses of all proxies for a minute, and look at each of them when a probe ends. */
	curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	if (source) {
		snprintf(from, sizeof(from), "host!%s", netaddr_format(source, ip));
		curl_easy_setopt(easy, CURLOPT_INTERFACE, from);
	}
}

static struct ev_loop *watching_loop(const struct http *http)
{
	return http->watch ? http->multi.loop : NULL;
}

/* Return NULL, or why the probe cannot run. */
static const char *set_trust(struct http *http, struct http_tls *tls, const struct conf_http *settings)
{
	const struct http_trust *trust = http_trust_of(&http->trust, settings->ca_file, watching_loop(http));

	if (!trust)
		return "out of memory";
	tls->trust = trust;
	return trust->store ? NULL : trust->error;
}

static const char *set_identity(struct http *http, struct http_tls *tls, const struct conf_http *settings)
{
	tls->identity = http_identity_of(&http->identities, settings->cert_file, settings->key_file, watching_loop(http));
	if (!tls->identity)
		return "out of memory";
	return tls->identity->key ? NULL : tls->identity->error;
}

/* Lets the probe resume the session of an earlier one, if there is memory for sessions. */
static void set_session(struct transfer *transfer)
{
	struct probe *probe = transfer->probe;
	bool failed = probe->result != CHECK_PASSED && probe->result != CHECK_NOT_RUN;

	if (!probe->kept && probe->env->conf->full_handshake_ms)
		probe->kept = calloc(1, sizeof(struct http_session));
	if (probe->kept)
		http_session_use(probe->kept, &transfer->tls, failed, transfer->easy);
}

static const char *set_tls(struct http *http, struct transfer *transfer, const struct conf_http *settings)
{
	struct http_tls *tls = &transfer->tls;
	const char *why = NULL;

	*tls = (struct http_tls){.verify = settings->verify};
	if (!settings->tls)
		return NULL;
	if (settings->verify)
		why = set_trust(http, tls, settings);
	if (!why && settings->cert_file)
		why = set_identity(http, tls, settings);
	if (why)
		return why;
	http_tls_set(tls, transfer->easy);
	set_session(transfer);
	return NULL;
}

void http_prepare(struct http *http, const struct conf_http *settings, struct faults *faults)
{
	struct http_tls tls;
	const char *why = settings->tls && settings->cert_file ? set_identity(http, &tls, settings) : NULL;

	if (why)
		faults_error(faults, NULL, "%s", why);
}

static void start(struct probe *probe)
{
	struct http *http = probe->env->http;
	struct transfer *transfer = take_transfer(http);
	const char *why;

	if (!transfer) {
		probe_end(probe, CHECK_NOT_RUN, "out of memory");
		return;
	}
	transfer->probe = probe;
	probe->state = transfer;
	set_connection(transfer, probe);
	why = set_tls(http, transfer, probe->spec->http);
	if (!why && (!http_request_set(&transfer->request, transfer->easy, probe) ||
			    curl_multi_add_handle(http->multi.multi, transfer->easy) != CURLM_OK))
		why = "out of memory";
	if (why)
		probe_end(probe, CHECK_NOT_RUN, "%s", why);
}

static void stop(struct probe *probe)
{
	struct http *http = probe->env->http;
	struct transfer *transfer = probe->state;

	if (!transfer)
		return;
	curl_multi_remove_handle(http->multi.multi, transfer->easy);
	curl_easy_setopt(transfer->easy, CURLOPT_SHARE, NULL);
	http_request_clear(&transfer->request);
	transfer->probe = NULL;
	transfer->next = http->idle;
	http->idle = transfer;
	probe->state = NULL;
}

struct http *http_open(struct ev_loop *loop, bool watch, struct faults *faults)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !http_multi_open(&http->multi, loop, on_ended))
		faults_error(faults, NULL, "cannot initialize libcurl, which http checks need");
	else if (!http_tls_usable())
		faults_error(faults, NULL,
			"https checks need a libcurl that uses OpenSSL; this one uses %s: install libcurl4",
			curl_version());
	else {
		http->watch = watch;
		return http;
	}
	free(http);
	return NULL;
}

void http_close(struct http *http)
{
	struct transfer *transfer;

	if (!http)
		return;
	while ((transfer = http->idle)) {
		http->idle = transfer->next;
		free_transfer(transfer);
	}
	http_multi_close(&http->multi);
	http_tls_forget();
	http_trust_free(&http->trust);
	http_identity_free(&http->identities);
	curl_global_cleanup();
	free(http);
}

void http_reload_certificates(struct http *http)
{
	for (struct http_identity *identity = http ? http->identities : NULL; identity; identity = identity->next)
		http_identity_load(identity);
	for (struct http_trust *trust = http ? http->trust : NULL; trust; trust = trust->next)
		http_trust_load(trust);
}

const struct http_trust *http_trust_list(const struct http *http)
{
	return http ? http->trust : NULL;
}

static void forget(struct probe *probe)
{
	if (probe->kept)
		http_session_end(probe->kept);
	free(probe->kept);
	probe->kept = NULL;
}

const struct probe_method check_http = {.start = start, .stop = stop, .forget = forget};
