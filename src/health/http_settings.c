/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/http_settings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/text.h"
#include "health/status_set.h"

static const char *const names[] = {
#define X(symbol, name) name,
	HTTP_SETTINGS(X)
#undef X
};

const char *http_setting_name(enum http_setting setting)
{
	return names[setting];
}

enum http_setting http_setting_find(const char *name)
{
	enum http_setting setting = 0;

	while (setting < HTTP_SETTING_COUNT && strcmp(names[setting], name) != 0)
		setting++;
	return setting;
}

bool http_setting_is_bool(enum http_setting setting)
{
	return setting == HTTP_TLS || setting == HTTP_VERIFY;
}

static bool is_of(const char *text, const char *characters, size_t max)
{
	size_t size = strlen(text);

	return size > 0 && size <= max && strspn(text, characters) == size;
}

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* A text that can be shown in a log: valid UTF-8 without control characters. */
static bool is_text(const char *text, size_t max)
{
	size_t size = strlen(text), step;

	if (size == 0 || size > max)
		return false;
	for (; size; text += step, size -= step) {
		step = text_character(text, size);
		if (step == 0)
			return false;
	}
	return true;
}

const char *http_setting_fault(enum http_setting setting, const char *value)
{
	struct status_set set;

	switch (setting) {
	case HTTP_HOST: /* It becomes part of a URL and of a header. */
		return is_of(value, LETTERS_AND_DIGITS "-._", HTTP_HOST_TEXT_MAX) ? NULL : "a host name";
	case HTTP_METHOD:
		return strcmp(value, "GET") == 0 || strcmp(value, "HEAD") == 0 || strcmp(value, "OPTIONS") == 0
			       ? NULL
			       : "a method: GET, HEAD or OPTIONS";
	case HTTP_STATUS:
		return status_set_parse(value, &set) ? NULL : "a set of statuses from 100 to 599 like \"200-299,304\"";
	case HTTP_BODY:
		return is_text(value, HTTP_BODY_TEXT_MAX) ? NULL
							  : "a text of at most 1024 bytes without control characters";
	case HTTP_VERSION:
		return strcmp(value, "1.1") == 0 || strcmp(value, "2") == 0 ? NULL
									    : "a version of HTTP: \"1.1\" or \"2\"";
	case HTTP_TLS:
	case HTTP_VERIFY:
		return strcmp(value, "true") == 0 || strcmp(value, "false") == 0 ? NULL : "true or false";
	default:
		return NULL;
	}
}

/* Headers that frame the message or belong to the connection. libcurl sends them where they are needed. */
static const char *const reserved[] = {"Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect", "Upgrade",
	"Keep-Alive", "Proxy-Connection", "HTTP2-Settings", "TE", "Trailer"};

const char *http_header_fault(const char *name, const char *value)
{
	size_t size = strlen(value);

	if (!is_of(name, LETTERS_AND_DIGITS "!#$%&'*+-.^_`|~", HTTP_HEADER_NAME_MAX))
		return "is not the name of a header: at most 64 letters, digits and characters like - and _";
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strcasecmp(name, reserved[i]) == 0)
			return i ? "cannot be set, because it belongs to the connection or the framing"
				 : "cannot be set here; use the setting for the host";
	if (size == 0 || size > HTTP_HEADER_VALUE_MAX || value[0] == ' ' || value[size - 1] == ' ')
		return "has a value that is empty, has more than 1024 characters, or begins or ends with a space";
	for (size_t i = 0; i < size; i++)
		if (value[i] < ' ' || value[i] > '~')
			return "has a value with a character that is not printable ASCII";
	return NULL;
}

bool http_headers_add(char **headers, const char *name, const char *value)
{
	size_t used = *headers ? strlen(*headers) : 0, size = strlen(name) + strlen(value) + 3;
	char *longer = realloc(*headers, used + size + 1);

	if (!longer)
		return false;
	*headers = longer;
	longer = stpcpy(longer + used, name);
	longer = stpcpy(longer, ": ");
	longer = stpcpy(longer, value);
	strcpy(longer, "\n");
	return true;
}

void http_settings_override(struct http_settings *settings, const struct http_settings *with)
{
	for (enum http_setting i = 0; with && i < HTTP_SETTING_COUNT; i++)
		if (with->values[i])
			settings->values[i] = with->values[i];
}

const char *http_settings_fault(const struct http_settings *settings)
{
	const char *method = settings->values[HTTP_METHOD];

	if (method && strcmp(method, "HEAD") == 0 && settings->values[HTTP_BODY])
		return "a text is expected in the body, but a response to HEAD has no body: use GET, or expect no text";
	return NULL;
}

void http_settings_free(struct http_settings *settings)
{
	for (enum http_setting i = 0; settings && i < HTTP_SETTING_COUNT; i++)
		free(settings->values[i]);
	if (settings)
		*settings = (struct http_settings){0};
}
