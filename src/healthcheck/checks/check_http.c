/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/check_http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "healthcheck/checks/error_result.h"
#include "healthcheck/checks/grpc/grpc_request.h"
#include "healthcheck/checks/http/http_request.h"
#include "healthcheck/checks/http/http_session.h"
#include "healthcheck/checks/http/http_tls.h"
#include "healthcheck/checks/http/http_worker.h"
#include "healthcheck/config/conf.h"

/* Idle workers that are kept for the next probes. To start one costs more than a probe. */
#define IDLE_MAX 64

struct http {
	struct http_workers workers;
	/* Transfers without a probe: those whose workers wait, and those whose workers have been told to end. */
	struct transfer *idle, *aborted;
	unsigned idle_count;
	/*
	 * An empty cache for transfers that resume no session. libcurl 7.88 would make one for the handle, and lose its
	 * memory when a later transfer has a cache of its own.
	 */
	CURLSH *no_sessions;
	struct http_trust *trust;
	struct http_identity *identities;
	/* True: files of certificates are read again when they change. */
	bool watch;
};

/* An aborted transfer has ended by then, unless something is wrong. */
#define ABORTED_MS 1000

/* A worker and the probe that uses it. When the probe ends, the worker is kept for the next one. */
struct transfer {
	struct http_worker worker;
	/* Next in the list of idle or aborted transfers. */
	struct transfer *next;
	struct http *http;
	/* NULL: none, or it ended before the transfer did. */
	struct probe *probe;
	/* The proxy, and when the probe ended before the transfer did, in ms of clock_now_ms(). */
	struct netaddr addr;
	uint16_t port;
	uint64_t aborted_ms;
	struct http_request request;
	struct http_tls tls;
	/* The session's cache, if the probe ended before the transfer did. */
	CURLSH *share;
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

	curl_easy_getinfo(transfer->worker.easy, CURLINFO_OS_ERRNO, &error);
	curl_easy_getinfo(transfer->worker.easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
	if (transfer->request.refused)
		probe_end(probe, CHECK_BAD_REPLY, "%s", transfer->request.refused);
	else if (code == CURLE_OUT_OF_MEMORY && !has_memory())
		probe_end(probe, CHECK_NOT_RUN, "out of memory");
	else if (code == CURLE_OUT_OF_MEMORY)
		probe_end(probe, CHECK_BAD_REPLY, "a line of the reply is too long");
	else if (transfer->worker.error)
		probe_end_errno(probe, transfer->worker.error);
	else if (code == CURLE_COULDNT_CONNECT && error)
		probe_end_errno(probe, (int)error);
	else
		probe_end(probe, error_result_curl((int)code, ready_us > 0), "%s",
			transfer->error[0] ? transfer->error : curl_easy_strerror(code));
}

static curl_off_t reached_us(const struct transfer *transfer, CURLINFO point)
{
	curl_off_t us = 0;

	curl_easy_getinfo(transfer->worker.easy, point, &us);
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
static void repeat(struct transfer *transfer)
{
	curl_easy_setopt(transfer->worker.easy, CURLOPT_SHARE, NULL);
	http_session_use(transfer->probe->kept, &transfer->tls, true, transfer->worker.easy);
	transfer->error[0] = '\0';
	http_worker_run(&transfer->worker);
}

static void judge(struct transfer *transfer, CURLcode code)
{
	struct probe *probe = transfer->probe;

	note_handshake(transfer);
	if (code != CURLE_OK)
		judge_error(transfer, code);
	else if (probe->spec->kind == CHECK_GRPC)
		grpc_request_judge(&transfer->request, probe);
	else
		http_request_judge(&transfer->request, probe);
}

static void free_transfer(struct transfer *transfer)
{
	http_worker_close(&transfer->worker);
	http_request_free(&transfer->request);
	free(transfer);
}

/* Releases what belongs to the last probe, and keeps the worker for the next one. */
static void put_transfer(struct transfer *transfer)
{
	struct http *http = transfer->http;

	curl_easy_setopt(transfer->worker.easy, CURLOPT_SHARE, NULL);
	curl_share_cleanup(transfer->share);
	transfer->share = NULL;
	http_tls_clear(&transfer->tls);
	http_request_clear(&transfer->request);
	transfer->probe = NULL;
	if (http->idle_count == IDLE_MAX) {
		free_transfer(transfer);
		return;
	}
	transfer->next = http->idle;
	http->idle = transfer;
	http->idle_count++;
}

static void forget_aborted(struct transfer *transfer)
{
	struct transfer **at = &transfer->http->aborted;

	while (*at != transfer)
		at = &(*at)->next;
	*at = transfer->next;
	put_transfer(transfer);
}

static void on_ended(struct http_worker *worker)
{
	struct transfer *transfer = (struct transfer *)worker;

	if (!transfer->probe)
		forget_aborted(transfer);
	else if (is_fault_of_session(transfer, worker->code))
		repeat(transfer);
	else
		judge(transfer, worker->code);
}

static void on_exhausted(struct http_worker *worker)
{
	struct transfer *transfer = (struct transfer *)worker;

	probe_end(transfer->probe, CHECK_BAD_REPLY, "libcurl used more than %d ms of CPU time for the reply",
		HTTP_WORKER_CPU_MS);
}

static struct transfer *new_transfer(struct http *http, const char **why)
{
	struct transfer *transfer = calloc(1, sizeof(*transfer));
	int error = transfer ? http_worker_open(&transfer->worker, &http->workers) : ENOMEM;

	if (!error) {
		transfer->http = http;
		return transfer;
	}
	*why = strerror(error);
	free(transfer);
	return NULL;
}

/* Returns an idle transfer or a new one, whose handle has no options set. Returns NULL with the reason in *why. */
static struct transfer *take_transfer(struct http *http, const char **why)
{
	struct transfer *transfer = http->idle;

	if (!transfer)
		return new_transfer(http, why);
	http->idle = transfer->next;
	http->idle_count--;
	curl_easy_reset(transfer->worker.easy);
	return transfer;
}

static void set_connection(struct transfer *transfer, const struct probe *probe)
{
	const struct netaddr *source = conf_source(probe->env->conf, probe->spec->addr.family);
	CURL *easy = transfer->worker.easy;
	char ip[NETADDR_TEXT_MAX], from[NETADDR_TEXT_MAX + 8];

	http_worker_set(&transfer->worker);
	curl_easy_setopt(easy, CURLOPT_SHARE, transfer->http->no_sessions);
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
	return http->watch ? http->workers.loop : NULL;
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
	return tls->identity->pair.key ? NULL : tls->identity->error;
}

/* Lets the probe resume the session of an earlier one, if there is memory for sessions. */
static void set_session(struct transfer *transfer)
{
	struct probe *probe = transfer->probe;
	bool failed = probe->result != CHECK_PASSED && probe->result != CHECK_NOT_RUN;

	if (!probe->kept && probe->env->conf->full_handshake_ms)
		probe->kept = calloc(1, sizeof(struct http_session));
	if (probe->kept)
		http_session_use(probe->kept, &transfer->tls, failed, transfer->worker.easy);
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
	if (!http_tls_set(tls, transfer->worker.easy))
		return "out of memory";
	set_session(transfer);
	return NULL;
}

void check_http_prepare(struct http *http, const struct conf_http *settings, struct faults *faults)
{
	struct http_tls tls;
	const char *why = settings->tls && settings->cert_file ? set_identity(http, &tls, settings) : NULL;

	if (why)
		faults_error(faults, NULL, "%s", why);
}

/* True if an aborted transfer to the same proxy does not end. Each probe would leave one more thread behind. */
static bool is_blocked(const struct http *http, const struct check_spec *spec)
{
	uint64_t now = clock_now_ms();

	for (const struct transfer *transfer = http->aborted; transfer; transfer = transfer->next)
		if (transfer->port == spec->port && netaddr_compare(&transfer->addr, &spec->addr) == 0 &&
			now - transfer->aborted_ms >= ABORTED_MS)
			return true;
	return false;
}

static void start(struct probe *probe)
{
	struct http *http = probe->env->http;
	const char *why = "out of memory";
	struct transfer *transfer;

	if (is_blocked(http, probe->spec)) {
		probe_end(probe, CHECK_BAD_REPLY,
			"libcurl still handles the reply to an earlier probe, whose connection is closed");
		return;
	}
	transfer = take_transfer(http, &why);
	if (!transfer) {
		probe_end(probe, CHECK_NOT_RUN, "cannot start a thread: %s", why);
		return;
	}
	transfer->probe = probe;
	transfer->addr = probe->spec->addr;
	transfer->port = probe->spec->port;
	probe->state = transfer;
	set_connection(transfer, probe);
	why = set_tls(http, transfer, probe->spec->http);
	if (!why && !http_request_set(&transfer->request, transfer->worker.easy, probe))
		why = "out of memory";
	if (why)
		probe_end(probe, CHECK_NOT_RUN, "%s", why);
	else
		http_worker_run(&transfer->worker);
}

static void stop(struct probe *probe)
{
	struct transfer *transfer = probe->state;

	probe->state = NULL;
	if (!transfer)
		return;
	if (!http_worker_is_busy(&transfer->worker)) {
		put_transfer(transfer);
		return;
	}
	/* The transfer uses the session until it has ended. */
	if (probe->kept)
		transfer->share = http_session_end(probe->kept);
	transfer->probe = NULL;
	transfer->aborted_ms = clock_now_ms();
	transfer->next = transfer->http->aborted;
	transfer->http->aborted = transfer;
	http_worker_abort(&transfer->worker);
}

struct http *check_http_open(struct ev_loop *loop, bool watch, struct faults *faults)
{
	struct http *http = calloc(1, sizeof(*http));

	/* A thread that does not end may use OpenSSL while the process exits. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
	if (!http || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || http_workers_open(&http->workers, loop))
		faults_error(faults, NULL, "cannot initialize libcurl, which http checks need");
	else if (!http_tls_usable())
		faults_error(faults, NULL,
			"https checks need a libcurl that uses OpenSSL; this one uses %s: install libcurl4",
			curl_version());
	else {
		http->no_sessions = curl_share_init();
		curl_share_setopt(http->no_sessions, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
		http->workers.ended = on_ended;
		http->workers.exhausted = on_exhausted;
		http->watch = watch;
		return http;
	}
	free(http);
	return NULL;
}

void check_http_close(struct http *http)
{
	struct transfer *transfer;

	if (!http || !http_workers_close(&http->workers))
		return;
	while ((transfer = http->idle)) {
		http->idle = transfer->next;
		free_transfer(transfer);
	}
	curl_share_cleanup(http->no_sessions);
	http_trust_free(&http->trust);
	http_identity_free(&http->identities);
	curl_global_cleanup();
	free(http);
}

void check_http_reload_certificates(struct http *http)
{
	for (struct http_identity *identity = http ? http->identities : NULL; identity; identity = identity->next)
		http_identity_load(identity);
	for (struct http_trust *trust = http ? http->trust : NULL; trust; trust = trust->next)
		http_trust_load(trust);
}

const struct http_trust *check_http_trust_list(const struct http *http)
{
	return http ? http->trust : NULL;
}

static void forget(struct probe *probe)
{
	if (probe->kept)
		curl_share_cleanup(http_session_end(probe->kept));
	free(probe->kept);
	probe->kept = NULL;
}

const struct probe_method check_http = {.start = start, .stop = stop, .forget = forget};
