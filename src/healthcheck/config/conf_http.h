/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of the `http` groups in healthcheck.conf, and the settings that an http check uses, after healthcheck.conf
 * and the table were combined. Checks with equal settings share one struct conf_http. Not thread-safe.
 */
#ifndef GLB_HEALTHCHECK_CONFIG_CONF_HTTP_H
#define GLB_HEALTHCHECK_CONFIG_CONF_HTTP_H

#include <stdbool.h>

#include "conf/conf_key.h"
#include "health/http_settings.h"
#include "health/status_set.h"

/* Read-only, except for `users`. The strings are owned. */
struct conf_http {
	/* The statuses that pass. */
	struct status_set status;
	/* Host header and SNI; NULL: the proxy's address. */
	char *host;
	/* "GET", "HEAD" or "OPTIONS". */
	char *method;
	/* Text that the body must contain; NULL: any body passes. */
	char *body;
	/* "NAME: VALUE\n" for each header; NULL: none. A secret: never in logs, names or /status. */
	char *headers;
	/* File with the trusted certificates; NULL: those that the system trusts. */
	char *ca_file;
	/* Client certificate and its key, both or none. */
	char *cert_file, *key_file;
	/* Use HTTPS, and check its certificate. */
	bool tls, verify;
	/* Use HTTP/2: over TLS if the proxy offers it there, else with prior knowledge. */
	bool http2;
	/* All settings as text. Equal texts mean equal settings. A secret, too. */
	char *text;
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
 * Makes the struct of these settings, with defaults for those that are not set, and with one user. `text` is that of
 * the settings; it is taken, also on failure. NULL: out of memory.
 */
struct conf_http *conf_http_make(const struct http_settings *settings, char *text);

/* Adds and removes a user. After the last one, the struct is freed. `http` may be NULL. */
struct conf_http *conf_http_get(struct conf_http *http);
void conf_http_put(struct conf_http *http);

#endif
