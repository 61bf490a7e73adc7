/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/http/http_tls.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* As in RFC 8446: a suite, and the first byte of all suites of TLS 1.3. */
#define AES_128_GCM_SHA256 0x1301
#define SUITES_OF_TLS13    0x13

/* Bits of a Diffie-Hellman group of TLS 1.2. OpenSSL takes 10 000, which are hundreds of milliseconds of CPU time. */
#define DH_MAX 4096

/* The context of all connections of this thread; NULL: the next connection makes one. Its settings belong to one
 * connection at a time. */
static _Thread_local SSL_CTX *own;
/* True in threads in which libcurl runs. */
static _Thread_local bool owning;
/* OpenSSL's own decision about a security parameter. */
static _Thread_local int (*usual)(const SSL *, const SSL_CTX *, int what, int bits, int nid, void *other, void *data);

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
	struct http_tls *tls = data;
	int good = tls->verify ? X509_verify_cert(context) : 1;
	STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(context);

	tls->full = true;
	note_expiry(tls, X509_STORE_CTX_get0_cert(context));
	for (int i = 0; i < sk_X509_num(chain); i++)
		note_expiry(tls, sk_X509_value(chain, i));
	return good;
}

/* OpenSSL asks this about keys, groups and algorithms. Returns 1 if they are allowed. */
static int is_allowed(const SSL *ssl, const SSL_CTX *context, int what, int bits, int nid, void *other, void *)
{
	if (what == SSL_SECOP_TMP_DH && EVP_PKEY_get_bits(other) > DH_MAX)
		return 0;
	return usual(ssl, context, what, bits, nid, other, NULL);
}

/*
 * Offers the TLS 1.3 suites that the system allows, TLS_AES_128_GCM_SHA256 first: CPUs have instructions for SHA-256
 * but not for SHA-384, and a handshake computes many hashes. If OpenSSL fails, the order stays as it is.
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

void http_tls_begin_thread(void)
{
	owning = true;
}

void http_tls_end_thread(void)
{
	owning = false;
	SSL_CTX_free(own);
	own = NULL;
}

/*
 * The dynamic linker binds libcurl's calls to this definition in place of libssl's. libcurl makes a context for each
 * connection, which takes as much CPU time as half of a handshake. The connections of a thread share one instead,
 * because SSL_new() copies the settings of the context, and libcurl and on_context() set all of them before each
 * SSL_new().
 */
SSL_CTX *SSL_CTX_new(const SSL_METHOD *method)
{
	if (!owning || method != TLS_client_method())
		return SSL_CTX_new_ex(NULL, NULL, method);
	if (!own) {
		own = SSL_CTX_new_ex(NULL, NULL, method);
		if (!own)
			return NULL;
		order_suites(own);
		SSL_CTX_set_options(own, SSL_OP_NO_RENEGOTIATION);
		usual = SSL_CTX_get_security_callback(own);
		SSL_CTX_set_security_callback(own, is_allowed);
	}
	SSL_CTX_up_ref(own);
	return own;
}

/* OpenSSL calls this when the proxy asks for a client certificate. Returns 1, or 0 if the handshake must fail. */
static int show(SSL *ssl, void *data)
{
	const struct http_pair *pair = data;

	return SSL_use_certificate(ssl, pair->cert) == 1 && SSL_set1_chain(ssl, pair->chain) == 1 &&
	       SSL_use_PrivateKey(ssl, pair->key) == 1;
}

/* libcurl calls this for each new connection, before SSL_new(), in the thread of the transfer. */
static CURLcode on_context(CURL *, void *context, void *data)
{
	struct http_tls *tls = data;

	/* This store is used in place of the one in which libcurl loads certificates. */
	if (!SSL_CTX_set1_verify_cert_store(context, tls->store))
		return CURLE_FAILED_INIT;
	SSL_CTX_set_cert_cb(context, tls->pair.key ? show : NULL, &tls->pair);
	/* libcurl refuses the tickets of TLS 1.2, without which nginx does not resume sessions by default. */
	SSL_CTX_clear_options(context, SSL_OP_NO_TICKET);
	SSL_CTX_set_cert_verify_callback(context, verify_chain, tls);
	return CURLE_OK;
}

bool http_tls_set(struct http_tls *tls, CURL *easy)
{
	if (tls->trust && X509_STORE_up_ref(tls->trust->store))
		tls->store = tls->trust->store;
	if (tls->identity)
		tls->pair = http_pair_hold(&tls->identity->pair);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, tls->verify ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, tls->verify ? 2L : 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	/* libcurl would load these for each connection. */
	curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_context);
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, tls);
	return !tls->trust == !tls->store && !tls->identity == !tls->pair.key;
}

void http_tls_clear(struct http_tls *tls)
{
	X509_STORE_free(tls->store);
	tls->store = NULL;
	http_pair_free(&tls->pair);
}
