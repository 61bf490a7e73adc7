/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/config/conf_http.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "conf/conf_reader.h"

static void read_setting(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	enum http_setting setting = http_setting_find(key->name);
	const char *text = config_setting_get_string(at), *fault;
	int type = CONFIG_TYPE_STRING;

	if (http_setting_is_bool(setting)) {
		type = CONFIG_TYPE_BOOL;
		text = config_setting_type(at) != type ? NULL : config_setting_get_bool(at) ? "true" : "false";
	}
	fault = http_setting_fault(setting, text ? text : "");
	if (fault || !text)
		conf_wrong(reader, at, type, "is not %s", fault ? fault : "a string");
	else
		conf_store(reader, at, field, text);
}

/* The values may be secrets, so no fault shows them. */
static void read_headers(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *, void *field)
{
	char *headers = NULL;
	int count = config_setting_is_group(at) ? config_setting_length(at) : 0;

	if (count == 0 || count > HTTP_HEADERS_MAX)
		conf_error(
			reader, at, NULL, "is not a group of 1 to %d headers: { NAME = \"VALUE\"; }", HTTP_HEADERS_MAX);
	for (int i = 0; i < count; i++) {
		const config_setting_t *header = config_setting_get_elem(at, (unsigned)i);
		const char *text = config_setting_get_string(header), *name = config_setting_name(header);
		const char *fault = text ? http_header_fault(name, text) : "has a value that is not a string";

		if (fault)
			conf_error(reader, header, NULL, "%s", fault);
		else if (!http_headers_add(&headers, name, text))
			conf_error(reader, header, NULL, "out of memory");
	}
	free(*(char **)field);
	*(char **)field = headers;
}

static void read_file(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	size_t errors = reader->faults->errors;

	conf_read_string(reader, at, key, field);
	if (reader->faults->errors == errors && access(*(char **)field, R_OK) < 0)
		conf_error(reader, at, NULL, "'%s' cannot be read", *(char **)field);
}

static void read_key_file(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct stat file;

	read_file(reader, at, key, field);
	if (*(char **)field && stat(*(char **)field, &file) == 0 && (file.st_mode & S_IROTH))
		conf_warn(reader, at, NULL, "'%s' can be read by every user: chmod o-r", *(char **)field);
}

/* Certificate and key go together, also if another group overrides them. The key may be in the certificate's file. */
static void pair_files(struct conf_reader *reader, const config_setting_t *at, struct http_settings *settings)
{
	char **values = settings->values;

	if (values[HTTP_KEY_FILE] && !values[HTTP_CERT_FILE])
		conf_error(reader, at, "key_file", "given without cert_file; give both");
	else if (values[HTTP_CERT_FILE] && !values[HTTP_KEY_FILE])
		conf_store(reader, at, &values[HTTP_KEY_FILE], values[HTTP_CERT_FILE]);
}

#define AT(setting) .offset = offsetof(struct http_settings, values[setting])

const struct conf_key conf_http_keys[] = {
#define X(symbol, text) {text, HTTP_##symbol == HTTP_HEADERS ? read_headers : read_setting, AT(HTTP_##symbol)},
	HTTP_TABLE_SETTINGS(X)
#undef X
		{"ca_file", read_file, AT(HTTP_CA_FILE)},
	{"cert_file", read_file, AT(HTTP_CERT_FILE)},
	{"key_file", read_key_file, AT(HTTP_KEY_FILE)},
	{0},
};

void conf_http_read(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *fault;

	conf_read_group(reader, at, key->keys, field);
	pair_files(reader, at, field);
	fault = http_settings_fault(field);
	if (fault)
		conf_error(reader, at, NULL, "%s", fault);
}

/* No value contains it. */
#define SEPARATOR "\x1e"

char *conf_http_text(const struct http_settings *settings)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (enum http_setting i = 0; i < HTTP_SETTING_COUNT; i++)
		fprintf(to, "%s" SEPARATOR, settings->values[i] ? settings->values[i] : "");
	return text_end(to, &text);
}

static bool is_true(const char *value, bool otherwise)
{
	return value ? strcmp(value, "true") == 0 : otherwise;
}

struct conf_http *conf_http_make(char *text)
{
	struct conf_http *http = calloc(1, sizeof(*http));
	char *rest = http ? strdup(text) : NULL, *values[HTTP_SETTING_COUNT];

	if (!rest) {
		free(http);
		free(text);
		return NULL;
	}
	*http = (struct conf_http){.text = text, .values = rest, .users = 1};
	for (enum http_setting i = 0; i < HTTP_SETTING_COUNT; i++) {
		values[i] = strsep(&rest, SEPARATOR);
		/* A setting has no empty value. */
		values[i] = *values[i] ? values[i] : NULL;
	}
	status_set_parse(values[HTTP_STATUS] ? values[HTTP_STATUS] : "200", &http->status);
	http->tls = is_true(values[HTTP_TLS], false);
	http->verify = is_true(values[HTTP_VERIFY], true);
	http->http2 = values[HTTP_VERSION] && strcmp(values[HTTP_VERSION], "2") == 0;
	http->host = values[HTTP_HOST];
	http->body = values[HTTP_BODY];
	http->method = values[HTTP_METHOD] ? values[HTTP_METHOD] : "GET";
	http->headers = values[HTTP_HEADERS];
	http->ca_file = values[HTTP_CA_FILE];
	http->cert_file = values[HTTP_CERT_FILE];
	http->key_file = values[HTTP_KEY_FILE];
	return http;
}

struct conf_http *conf_http_get(struct conf_http *http)
{
	if (http)
		http->users++;
	return http;
}

void conf_http_put(struct conf_http *http)
{
	if (!http || --http->users > 0)
		return;
	free(http->values);
	free(http->text);
	free(http);
}
