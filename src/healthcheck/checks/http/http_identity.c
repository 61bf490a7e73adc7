/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/http/http_identity.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "program/log.h"

#define FILE_MAX ((off_t)1 << 20) /* bytes */

void http_pair_free(struct http_pair *pair)
{
	X509_free(pair->cert);
	sk_X509_pop_free(pair->chain, X509_free);
	EVP_PKEY_free(pair->key);
	*pair = (struct http_pair){0};
}

struct http_pair http_pair_hold(const struct http_pair *pair)
{
	STACK_OF(X509) *chain = X509_chain_up_ref(pair->chain);

	if (!chain)
		return (struct http_pair){0};
	X509_up_ref(pair->cert);
	EVP_PKEY_up_ref(pair->key);
	return (struct http_pair){pair->cert, chain, pair->key};
}

/* Opens a regular file that is not too large, else returns NULL with the reason in *why. */
static BIO *open_file(const char *path, const char **why)
{
	struct stat file;
	BIO *bio;

	if (stat(path, &file) < 0) {
		*why = strerror(errno);
		return NULL;
	}
	if (!S_ISREG(file.st_mode) || file.st_size > FILE_MAX) {
		*why = "is no regular file of at most 1 MiB";
		return NULL;
	}
	bio = BIO_new_file(path, "r");
	if (!bio)
		*why = strerror(errno);
	return bio;
}

/* Returns NULL, or why the certificates cannot be used. */
static const char *read_certs(const char *path, struct http_pair *pair)
{
	const char *why = NULL;
	BIO *bio = open_file(path, &why);
	X509 *next;

	if (!bio)
		return why;
	pair->cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	pair->chain = sk_X509_new_null();
	while (pair->cert && pair->chain && (next = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
		if (!sk_X509_push(pair->chain, next))
			X509_free(next);
	BIO_free(bio);
	return pair->cert && pair->chain ? NULL : "has no certificate in PEM";
}

/* OpenSSL calls this for the passphrase of an encrypted key. */
static int no_passphrase(char *, int, int, void *asked)
{
	*(bool *)asked = true;
	return -1;
}

static const char *read_key(const char *path, struct http_pair *pair)
{
	const char *why = NULL;
	bool encrypted = false;
	BIO *bio = open_file(path, &why);

	if (!bio)
		return why;
	pair->key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &encrypted);
	BIO_free(bio);
	if (encrypted)
		return "has an encrypted key: store it without a passphrase";
	return pair->key ? NULL : "has no private key in PEM";
}

/* Returns NULL, or why OpenSSL refuses to show the pair, for instance for its security level. */
static const char *refusal(const struct http_pair *pair)
{
	SSL_CTX *context = SSL_CTX_new_ex(NULL, NULL, TLS_client_method());
	const char *reason;
	bool good;

	ERR_clear_error();
	good = context && SSL_CTX_use_certificate(context, pair->cert) == 1 &&
	       SSL_CTX_set1_chain(context, pair->chain) == 1 && SSL_CTX_use_PrivateKey(context, pair->key) == 1;
	SSL_CTX_free(context);
	reason = ERR_reason_error_string(ERR_peek_error());
	return good ? NULL : reason ? reason : "is refused by OpenSSL";
}

static void refuse(struct http_identity *identity, const char *file, const char *why)
{
	char error[HTTP_IDENTITY_ERROR_MAX];
	bool same;

	snprintf(error, sizeof(error), "client certificate: %s: %s%s", file, why,
		identity->pair.key ? "; the certificate that was loaded before stays in use" : "");
	same = strcmp(error, identity->error) == 0;
	memcpy(identity->error, error, sizeof(error));
	if (!same && identity->pair.key)
		log_error("%s", identity->error);
}

void http_identity_load(struct http_identity *identity)
{
	struct http_pair pair = {0};
	const char *file = identity->cert_file, *why = read_certs(file, &pair);

	if (!why) {
		file = identity->key_file;
		why = read_key(file, &pair);
	}
	if (!why && X509_check_private_key(pair.cert, pair.key) != 1)
		why = "is not the key of the certificate";
	if (!why) {
		file = identity->cert_file;
		why = refusal(&pair);
	}
	ERR_clear_error();
	if (why) {
		refuse(identity, file, why);
		http_pair_free(&pair);
		return;
	}
	if (identity->error[0] && identity->pair.key)
		log_notice("client certificate %s is valid again and in use", identity->cert_file);
	identity->error[0] = '\0';
	identity->loads++;
	http_pair_free(&identity->pair);
	identity->pair = pair;
}

static void on_changed(void *data)
{
	http_identity_load(data);
}

static void free_one(struct http_identity *identity)
{
	for (int i = 0; i < 2; i++)
		watch_close(&identity->watches[i]);
	http_pair_free(&identity->pair);
	free(identity->cert_file);
	free(identity->key_file);
	free(identity);
}

static void watch_files(struct http_identity *identity, struct ev_loop *loop)
{
	const char *files[] = {identity->cert_file, identity->key_file};

	for (int i = 0; i < 2; i++)
		if (watch_open(&identity->watches[i], loop, files[i], on_changed, identity))
			log_warning("%s cannot be watched by inotify: after a change of it, send SIGHUP", files[i]);
}

struct http_identity *http_identity_of(
	struct http_identity **list, const char *cert_file, const char *key_file, struct ev_loop *loop)
{
	struct http_identity *identity;

	for (identity = *list; identity; identity = identity->next)
		if (strcmp(identity->cert_file, cert_file) == 0 && strcmp(identity->key_file, key_file) == 0)
			return identity;
	identity = calloc(1, sizeof(*identity));
	if (!identity)
		return NULL;
	identity->cert_file = strdup(cert_file);
	identity->key_file = strdup(key_file);
	if (!identity->cert_file || !identity->key_file) {
		free_one(identity);
		return NULL;
	}
	identity->next = *list;
	*list = identity;
	http_identity_load(identity);
	if (loop)
		watch_files(identity, loop);
	return identity;
}

void http_identity_free(struct http_identity **list)
{
	struct http_identity *identity;

	while ((identity = *list)) {
		*list = identity->next;
		free_one(identity);
	}
}
