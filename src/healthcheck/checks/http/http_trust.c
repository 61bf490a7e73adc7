/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/http/http_trust.h"

#include <curl/curl.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/file.h"
#include "program/log.h"

/* Finds the files of the system's trust: those that libcurl was built with. */
static void find_system(const char **file, const char **folder)
{
	const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);

	*file = curl->cainfo;
	*folder = curl->capath;
	if (!*file && !*folder)
		*file = X509_get_default_cert_file();
}

static bool has_certificate(X509_STORE *store)
{
	const STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);

	for (int i = 0; i < sk_X509_OBJECT_num(objects); i++)
		if (X509_OBJECT_get_type(sk_X509_OBJECT_value(objects, i)) == X509_LU_X509)
			return true;
	return false;
}

/* Returns NULL, or why the files cannot be loaded. */
static const char *fill(X509_STORE *store, const struct http_trust *trust)
{
	/* As libcurl does it: an intermediate certificate in the file is trusted without its issuer. */
	X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
	if (trust->file && access(trust->file, R_OK) < 0)
		return strerror(errno);
	if (!X509_STORE_load_locations(store, trust->file, trust->folder)) {
		const char *reason = ERR_reason_error_string(ERR_peek_error());

		return reason ? reason : "it cannot be parsed";
	}
	return trust->folder || has_certificate(store) ? NULL : "it has no certificate";
}

static void refuse(struct http_trust *trust, const char *why)
{
	char error[HTTP_TRUST_ERROR_MAX];
	bool same;

	snprintf(error, sizeof(error), "trusted certificates in %s cannot be loaded: %s: %s",
		trust->file ? trust->file : trust->folder, why,
		trust->store ? "the certificates that were loaded before stay trusted; put PEM certificates into the file"
			     : "https checks that need them do not run; put PEM certificates into the file");
	same = strcmp(error, trust->error) == 0;
	memcpy(trust->error, error, sizeof(error));
	trust->refused++;
	if (!same)
		log_error("%s", trust->error);
}

void http_trust_load(struct http_trust *trust)
{
	X509_STORE *store = X509_STORE_new();
	const char *why;

	/* Before the file is read: a change after that is seen as one. */
	if (trust->file)
		file_look(trust->file, &trust->seen);
	ERR_clear_error();
	why = store ? fill(store, trust) : "out of memory";
	if (why) {
		refuse(trust, why);
		X509_STORE_free(store);
		ERR_clear_error();
		return;
	}
	if (trust->error[0])
		log_notice("trusted certificates in %s are valid again and in use", trust->file);
	trust->error[0] = '\0';
	trust->loads++;
	/* Probes that are running hold the old store. */
	X509_STORE_free(trust->store);
	trust->store = store;
}

static void on_changed(void *data)
{
	struct http_trust *trust = data;
	struct stat now;

	file_look(trust->file, &now);
	if (file_is_untouched(&now, &trust->seen))
		return;
	http_trust_load(trust);
	if (!trust->error[0])
		log_info("trusted certificates in %s were read again", trust->file);
}

static bool set_files(struct http_trust *trust, const char *ca_file)
{
	const char *file = ca_file, *folder = NULL;

	if (!ca_file)
		find_system(&file, &folder);
	trust->file = file ? strdup(file) : NULL;
	trust->folder = folder ? strdup(folder) : NULL;
	return !file == !trust->file && !folder == !trust->folder;
}

static void free_one(struct http_trust *trust)
{
	watch_close(&trust->watch);
	X509_STORE_free(trust->store);
	free(trust->file);
	free(trust->folder);
	free(trust);
}

static struct http_trust *add(struct http_trust **list, const char *ca_file, struct ev_loop *loop)
{
	struct http_trust *trust = calloc(1, sizeof(*trust));

	if (!trust || !set_files(trust, ca_file)) {
		if (trust)
			free_one(trust);
		return NULL;
	}
	trust->system = !ca_file;
	trust->next = *list;
	*list = trust;
	http_trust_load(trust);
	if (loop && trust->file && watch_open(&trust->watch, loop, trust->file, on_changed, trust))
		log_warning("%s cannot be watched by inotify: after a change of it, send SIGHUP", trust->file);
	return trust;
}

struct http_trust *http_trust_of(struct http_trust **list, const char *ca_file, struct ev_loop *loop)
{
	for (struct http_trust *trust = *list; trust; trust = trust->next)
		if (ca_file ? !trust->system && strcmp(trust->file, ca_file) == 0 : trust->system)
			return trust;
	return add(list, ca_file, loop);
}

void http_trust_free(struct http_trust **list)
{
	struct http_trust *trust;

	while ((trust = *list)) {
		*list = trust->next;
		free_one(trust);
	}
}
