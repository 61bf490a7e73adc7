/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/http/http_tls.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* As in RFC 8446: a suite, and the first byte of all suites of TLS 1.3. */
#define AES_128_GCM_SHA256 0x1301
#define SUITES_OF_TLS13    0x13

/* The context of all connections; NULL: the next connection makes one. */
static SSL_CTX *shared;
/* True while libcurl may take `shared`. */
static bool lent;

bool http_tls_usable(void)
{
	const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);

	return curl->ssl_version && strncmp(curl->ssl_version, "OpenSSL/", 8) == 0;
}

static void note_expiry(struct http_tls *tls, const X509 *certificate)
{
	struct tm end;
	int64_t end_s;

	if (!certificate || !ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end))
		return;
	end_s = (int64_t)timegm(&end);
	if (!tls->expires_s || end_s < tls->expires_s)
		tls->expires_s = end_s;
}

/* OpenSSL calls this when the proxy's certificates have arrived. Returns 1 if they are good. */
static int verify_chain(X509_STORE_CTX *context, void *data)
{
	const SSL *ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct http_tls *tls = ssl ? SSL_get0_security_ex_data(ssl) : NULL;
	STACK_OF(X509) * chain;
	int good;

	(void)data;
	if (!tls)
		return 0;
	good = tls->verify ? X509_verify_cert(context) : 1;
	chain = X509_STORE_CTX_get0_chain(context);
	tls->full = true;
	note_expiry(tls, X509_STORE_CTX_get0_cert(context));
	for (int i = 0; i < sk_X509_num(chain); i++)
		note_expiry(tls, sk_X509_value(chain, i));
	return good;
}

/*
 * Offers the TLS 1.3 suites that the system allows, TLS_AES_128_GCM_SHA256 first: CPUs have instructions for SHA-256 but not for
 * SHA-384, and a handshake computes many hashes. If OpenSSL fails, the order stays as it is.
 */
static void order_suites(SSL_CTX *context)
{
	const STACK_OF(SSL_CIPHER) *suites = SSL_CTX_get_ciphers(context);
	char list[512] = "";
	size_t size = 0;

	for (unsigned pass = 0; pass < 2; pass++)
		for (int i = 0; i < sk_SSL_CIPHER_num(suites) && size < sizeof(list); i++) {
			const SSL_CIPHER *suite = sk_SSL_CIPHER_value(suites, i);
			uint16_t id = SSL_CIPHER_get_protocol_id(suite);

			if (id >> 8 == SUITES_OF_TLS13 && (id == AES_128_GCM_SHA256) == (pass == 0))
				size += (size_t)snprintf(list + size, sizeof(list) - size, "%s%s", size ? ":" : "",
					SSL_CIPHER_get_name(suite));
		}
	if (size && size < sizeof(list))
		SSL_CTX_set_ciphersuites(context, list);
}

void http_tls_lend(bool lend)
{
	lent = lend;
}

void http_tls_forget(void)
{
	SSL_CTX_free(shared);
	shared = NULL;
}

/*
 * The dynamic linker binds libcurl's calls to this definition in place of libssl's. libcurl makes a context for each
 * connection, which takes as much CPU time as half of a handshake. The connections can share one, because SSL_new() copies the
 * settings of the context, and libcurl and on_context() set all of them before each SSL_new().
 */
SSL_CTX *SSL_CTX_new(const SSL_METHOD *method)
{
	if (!lent || method != TLS_client_method())
		return SSL_CTX_new_ex(NULL, NULL, method);
	if (!shared) {
		shared = SSL_CTX_new_ex(NULL, NULL, method);
		if (!shared)
			return NULL;
		order_suites(shared);
	}
	SSL_CTX_up_ref(shared);
	return shared;
}

/* libcurl calls this for each new connection, before SSL_new(). */
static CURLcode on_context(CURL *easy, void *context, void *data)
{
	struct http_tls *tls = data;

	(void)easy;
	/* This store is used in place of the one in which libcurl loads certificates. */
	if (!SSL_CTX_set1_verify_cert_store(context, tls->trust ? tls->trust->store : NULL))
		return CURLE_FAILED_INIT;
	http_identity_use(tls->identity, context);
	/* libcurl refuses the tickets of TLS 1.2, without which nginx does not resume sessions by default. */
	SSL_CTX_clear_options(context, SSL_OP_NO_TICKET);
	SSL_CTX_set_cert_verify_callback(context, verify_chain, NULL);
	/* SSL_new() copies this pointer. OpenSSL's own security callback does not use it. */
	SSL_CTX_set0_security_ex_data(context, tls);
	return CURLE_OK;
}

void http_tls_set(struct http_tls *tls, CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, tls->verify ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, tls->verify ? 2L : 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	/* libcurl would load these for each connection. */
	curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_context);
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, tls);
}
