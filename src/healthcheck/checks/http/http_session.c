/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/http/http_session.h"

#include <stdlib.h>
#include <time.h>

#include "common/clock.h"

static bool is_loaded_again(const struct http_session *session, const struct http_tls *tls)
{
	return session->trust_loads != (tls->trust ? tls->trust->loads : 0) ||
	       session->identity_loads != (tls->identity ? tls->identity->loads : 0);
}

static bool is_expired(const struct http_session *session, const struct http_tls *tls)
{
	return tls->verify && session->expires_s && (int64_t)time(NULL) >= session->expires_s;
}

static void begin(struct http_session *session, const struct http_tls *tls)
{
	session->trust_loads = tls->trust ? tls->trust->loads : 0;
	session->identity_loads = tls->identity ? tls->identity->loads : 0;
	session->empty = true;
	session->share = curl_share_init();
	if (session->share)
		curl_share_setopt(session->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

void http_session_use(struct http_session *session, const struct http_tls *tls, bool failed, CURL *handle)
{
	if (failed || clock_now_ms() >= session->due_ms || is_loaded_again(session, tls) || is_expired(session, tls))
		curl_share_cleanup(http_session_end(session));
	session->empty = false;
	if (!session->share)
		begin(session, tls);
	curl_easy_setopt(handle, CURLOPT_SHARE, session->share);
	curl_easy_setopt(handle, CURLOPT_SSL_SESSIONID_CACHE, session->share ? 1L : 0L);
}

CURLSH *http_session_end(struct http_session *session)
{
	CURLSH *share = session->share;

	session->share = NULL;
	return share;
}

/*
 * The checks of many proxies begin together: at the start, and when trust is loaded again. A first period of random
 * length spreads their later full handshakes over time.
 */
void http_session_note(struct http_session *session, const struct http_tls *tls, unsigned period_ms)
{
	uint64_t now = clock_now_ms();

	if (!tls->full)
		return;
	session->expires_s = tls->expires_s;
	if (session->due_ms && now >= session->due_ms)
		session->due_ms = now + period_ms;
	else
		session->due_ms = now + 1 + arc4random_uniform(period_ms);
}
