/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/table_json_health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an object `healthchecks` is read into. */
struct draft {
	struct check_targets targets; /* of a backend */
	struct check_timing timing; /* of a table or the document */
	unsigned trigger; /* for both directions; 0: not given */
	struct http_settings http;
};

static const char *uri_fault(const char *text)
{
	size_t size = strlen(text);
	bool valid = text[0] == '/' && size <= CHECK_URI_MAX;

	for (size_t i = 0; i < size; i++)
		valid &= (unsigned char)text[i] > ' ' && text[i] != 0x7f;
	return valid ? NULL
		     : "a path that starts with '/', of at most 2048 characters, without spaces or control characters";
}

static const char *service_fault(const char *text)
{
	size_t size = strlen(text);
	bool valid = size > 0 && size <= CHECK_GRPC_SERVICE_MAX;

	for (size_t i = 0; i < size; i++)
		valid &= text[i] > ' ' && text[i] <= '~';
	return valid ? NULL : CHECK_GRPC_SERVICE_FORM;
}

static const char *command_fault(const char *text)
{
	return check_command_name_is_valid(text) ? NULL : CHECK_COMMAND_NAME_FORM;
}

static void read_setting(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	enum http_setting setting = http_setting_find(member->name + strlen("http_"));
	bool is_bool = http_setting_is_bool(setting);
	const char *text = json_string_value(value), *fault;
	char **copy = field;

	if (is_bool)
		text = json_is_true(value) ? "true" : json_is_false(value) ? "false" : NULL;
	fault = http_setting_fault(setting, text ? text : "");
	if (fault)
		json_reader_reject(reader, value, is_bool ? JSON_TRUE : JSON_STRING, fault);
	else if (!(*copy = strdup(text)))
		json_reader_error(reader, "out of memory");
}

static void read_headers(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	char **headers = field;
	const char *name;
	json_t *header;

	if (!json_is_object(value) || json_object_size(value) == 0 || json_object_size(value) > HTTP_HEADERS_MAX)
		json_reader_error(reader, "is not an object of 1 to %d headers: {\"NAME\": \"VALUE\"}", HTTP_HEADERS_MAX);
	json_object_foreach(value, name, header)
	{
		const char *text = json_string_value(header);
		/* The value may be a secret, so no fault shows it. */
		const char *fault = text ? http_header_fault(name, text) : "has a value that is not a string";
		size_t mark = json_reader_enter_key(reader, name);

		if (fault)
			json_reader_error(reader, "%s", fault);
		else if (!http_headers_add(headers, name, text))
			json_reader_error(reader, "out of memory");
		json_reader_leave(reader, mark);
	}
}

#define PORT(kind)                                                                                           \
	.read = json_read_unsigned, .min = 1, .max = UINT16_MAX, JSON_AT(struct draft, targets.ports[kind]), \
	.set = JSON_SET_VALUE
#define TEXT(kind) .read = json_read_text, JSON_AT(struct draft, targets.texts[kind]), .set = JSON_SET_TEXT
#define COUNT(of, first, last) \
	.read = json_read_unsigned, .min = (first), .max = (last), JSON_AT(struct draft, of), .set = JSON_SET_VALUE

/* `edit set` cannot express an object. */
#define HTTP(symbol, text)                                                                          \
	{.name = "http_" text,                                                                      \
		.read = HTTP_##symbol == HTTP_HEADERS ? read_headers : read_setting,                \
		JSON_AT(struct draft, http.values[HTTP_##symbol]),                                  \
		.set = HTTP_##symbol == HTTP_HEADERS                               ? JSON_NOT_SET   \
		       : HTTP_##symbol == HTTP_TLS || HTTP_##symbol == HTTP_VERIFY ? JSON_SET_VALUE \
										   : JSON_SET_TEXT},

const struct json_member table_json_checks[] = {
	{"http", PORT(CHECK_HTTP)},
	{"http_uri", TEXT(CHECK_HTTP), .fault = uri_fault},
	{"grpc", PORT(CHECK_GRPC)},
	{"grpc_service", TEXT(CHECK_GRPC), .fault = service_fault},
	{"tcp", PORT(CHECK_TCP)},
	{"gue", PORT(CHECK_GUE)},
	{"fou", PORT(CHECK_FOU)},
	{"command", TEXT(CHECK_COMMAND), .fault = command_fault},
	HTTP_TABLE_SETTINGS(HTTP){0},
};

const struct json_member table_json_defaults[] = {
	{"interval_ms", COUNT(timing.interval_ms, CHECK_INTERVAL_MS_MIN, CHECK_TIMING_MS_MAX)},
	{"timeout_ms", COUNT(timing.timeout_ms, CHECK_TIMEOUT_MS_MIN, CHECK_TIMING_MS_MAX)},
	{"trigger", COUNT(trigger, 1, CHECK_TRIGGER_MAX)},
	{"trigger_healthy", COUNT(timing.trigger_healthy, 1, CHECK_TRIGGER_MAX)},
	{"trigger_unhealthy", COUNT(timing.trigger_unhealthy, 1, CHECK_TRIGGER_MAX)},
	HTTP_TABLE_SETTINGS(HTTP){0},
};

void table_json_read_defaults(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	struct table_health_defaults *defaults = field;
	struct draft draft = {0};

	json_reader_object(reader, value, member->members, &draft);
	*defaults = (struct table_health_defaults){draft.timing, draft.http};
	if (!defaults->timing.trigger_healthy)
		defaults->timing.trigger_healthy = draft.trigger;
	if (!defaults->timing.trigger_unhealthy)
		defaults->timing.trigger_unhealthy = draft.trigger;
}

void table_json_read_checks(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	const struct http_settings none = {0};
	struct check_targets *targets = field;
	struct draft draft = {.targets = *targets};

	json_reader_object(reader, value, member->members, &draft);
	*targets = draft.targets;
	if (memcmp(&draft.http, &none, sizeof(none)) == 0)
		return;
	targets->http_settings = malloc(sizeof(draft.http));
	if (targets->http_settings) {
		*targets->http_settings = draft.http;
		return;
	}
	http_settings_free(&draft.http);
	json_reader_error(reader, "out of memory");
}

void table_json_health_lint(const struct table_health *health, struct faults *faults)
{
	for (uint32_t t = 0; t < health->count; t++)
		for (uint32_t b = 0; b < health->tables[t].backend_count; b++) {
			struct http_settings settings = {0};
			const char *fault;
			char where[64];

			if (!health->tables[t].backends[b].ports[CHECK_HTTP])
				continue;
			table_health_http(health, t, b, &settings);
			fault = http_settings_fault(&settings);
			snprintf(where, sizeof(where), "tables[%u].backends[%u].healthchecks", t, b);
			if (fault)
				faults_error(faults, where, "%s", fault);
		}
}
