/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of the `http` groups in healthcheck.conf, and the settings that an http check uses, after healthcheck.conf
 * and the table were combined. Checks with equal settings share one struct conf_http. Not thread-safe.
 */
#pragma once

#include <stdbool.h>

#include "conf/conf_key.h"
#include "health/http_settings.h"
#include "health/status_set.h"

/* Read-only, except for `users`. Strings are in `values`. */
struct conf_http {
	/* The statuses that pass. */
	struct status_set status;
	/* Host header and SNI; NULL: the proxy's address. */
	const char *host;
	/* "GET", "HEAD" or "OPTIONS". */
	const char *method;
	/* Text that the body must contain; NULL: any body passes. */
	const char *body;
	/* "NAME: VALUE\n" for each header; NULL: none. A secret: never in logs, names or /status. */
	const char *headers;
	/* File with the trusted certificates; NULL: those that the system trusts. */
	const char *ca_file;
	/* Client certificate and its key, both or none. */
	const char *cert_file, *key_file;
	/* Use HTTPS, and check its certificate. */
	bool tls, verify;
	/* Use HTTP/2: over TLS if the proxy offers it there, else with prior knowledge. */
	bool http2;
	/* All settings as text. Equal texts mean equal settings. A secret, too. */
	char *text;
	/* The same text, cut into its values; owned, as `text` is. */
	char *values;
	/* How many users must still call conf_http_put(). */
	unsigned users;
};

/* The keys of a group `http`, and its reader: `field` is a struct http_settings. Values whose keys are missing stay. */
extern const struct conf_key conf_http_keys[];
void conf_http_read(
	struct conf_reader *reader, const struct config_setting_t *at, const struct conf_key *key, void *field);

/* Returns the member `text` of these settings. malloc'd, the caller frees; NULL: out of memory. */
char *conf_http_text(const struct http_settings *settings);

/*
 * Makes the struct of the settings in `text`, with defaults for those that are not set, and with one user. Takes the
 * text, also on failure. NULL: out of memory.
 */
struct conf_http *conf_http_make(char *text);

/* Adds and removes a user. After the last one, the struct is freed. `http` may be NULL. */
struct conf_http *conf_http_get(struct conf_http *http);
void conf_http_put(struct conf_http *http);
