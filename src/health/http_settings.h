/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of http checks, as users write them: in `http` of healthcheck.conf, and in `healthchecks` of a JSON
 * table with the prefix http_. Every value is text; a list of headers is "NAME: VALUE\n" for each. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Symbol, key in healthcheck.conf. The last ones name files of this host, so they are not in tables. */
#define HTTP_TABLE_SETTINGS(X) \
	X(HOST, "host")        \
	X(METHOD, "method")    \
	X(STATUS, "status")    \
	X(BODY, "body")        \
	X(VERSION, "version")  \
	X(TLS, "tls")          \
	X(VERIFY, "verify")    \
	X(HEADERS, "headers")

#define HTTP_SETTINGS(X)          \
	HTTP_TABLE_SETTINGS(X)    \
	X(CA_FILE, "ca_file")     \
	X(CERT_FILE, "cert_file") \
	X(KEY_FILE, "key_file")

enum http_setting {
#define X(symbol, name) HTTP_##symbol,
	HTTP_SETTINGS(X)
#undef X
		HTTP_SETTING_COUNT
};

#define HTTP_HOST_TEXT_MAX    253 /* longest name in DNS */
#define HTTP_BODY_TEXT_MAX    1024 /* bytes */
#define HTTP_HEADERS_MAX      32
#define HTTP_HEADER_NAME_MAX  64
#define HTTP_HEADER_VALUE_MAX 1024

/* A value that is not set is NULL. */
struct http_settings {
	char *values[HTTP_SETTING_COUNT];
};

/* Returns the setting's key in healthcheck.conf; the setting with this key, HTTP_SETTING_COUNT if there is none. */
const char *http_setting_name(enum http_setting setting);
enum http_setting http_setting_find(const char *name);

/* Returns true for settings that are true or false. */
bool http_setting_is_bool(enum http_setting setting);

/* Returns NULL if the value is valid, else what is expected. Not for headers. */
const char *http_setting_fault(enum http_setting setting, const char *value);

/* Returns NULL if the header may be sent, else why not. `name` and `value` are never in the text. */
const char *http_header_fault(const char *name, const char *value);

/* Appends a header to the list in *headers, which is NULL or malloc'd. Returns false if out of memory. */
bool http_headers_add(char **headers, const char *name, const char *value);

/* Lets *settings borrow each value that is set in `with`. */
void http_settings_override(struct http_settings *settings, const struct http_settings *with);

/* Returns which settings contradict each other; NULL: none. */
const char *http_settings_fault(const struct http_settings *settings);

void http_settings_free(struct http_settings *settings);
