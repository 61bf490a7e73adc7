/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/table_json_health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The object that is being read; `read` functions get it as `into`. */
struct draft {
	struct check_timing *timing; /* NULL in a backend */
	struct check_targets *targets; /* NULL elsewhere */
	struct http_settings *http;
	unsigned trigger; /* for both directions; 0: not given */
};

static void read_unsigned(struct json_reader *reader, const json_t *value, json_int_t min, json_int_t max, unsigned *out)
{
	json_int_t number;

	if (json_reader_integer(reader, value, min, max, &number))
		*out = (unsigned)number;
}

static void read_interval(struct json_reader *reader, json_t *value, void *into)
{
	struct draft *draft = into;

	read_unsigned(reader, value, CHECK_INTERVAL_MS_MIN, CHECK_TIMING_MS_MAX, &draft->timing->interval_ms);
}

static void read_timeout(struct json_reader *reader, json_t *value, void *into)
{
	struct draft *draft = into;

	read_unsigned(reader, value, CHECK_TIMEOUT_MS_MIN, CHECK_TIMING_MS_MAX, &draft->timing->timeout_ms);
}

static void read_trigger(struct json_reader *reader, json_t *value, void *into)
{
	struct draft *draft = into;

	read_unsigned(reader, value, 1, CHECK_TRIGGER_MAX, &draft->trigger);
}

static void read_trigger_healthy(struct json_reader *reader, json_t *value, void *into)
{
	struct draft *draft = into;

	read_unsigned(reader, value, 1, CHECK_TRIGGER_MAX, &draft->timing->trigger_healthy);
}

static void read_trigger_unhealthy(struct json_reader *reader, json_t *value, void *into)
{
	struct draft *draft = into;

	read_unsigned(reader, value, 1, CHECK_TRIGGER_MAX, &draft->timing->trigger_unhealthy);
}

static void read_port(struct json_reader *reader, const json_t *value, uint16_t *port)
{
	json_int_t number;

	if (json_reader_integer(reader, value, 1, UINT16_MAX, &number))
		*port = (uint16_t)number;
}

static void read_http(struct json_reader *reader, json_t *value, void *into)
{
	read_port(reader, value, &((struct draft *)into)->targets->http);
}

static void read_grpc(struct json_reader *reader, json_t *value, void *into)
{
	read_port(reader, value, &((struct draft *)into)->targets->grpc);
}

static void read_tcp(struct json_reader *reader, json_t *value, void *into)
{
	read_port(reader, value, &((struct draft *)into)->targets->tcp);
}

static void read_gue(struct json_reader *reader, json_t *value, void *into)
{
	read_port(reader, value, &((struct draft *)into)->targets->gue);
}

static void read_fou(struct json_reader *reader, json_t *value, void *into)
{
	read_port(reader, value, &((struct draft *)into)->targets->fou);
}

static bool is_uri(const char *text)
{
	size_t size = text ? strlen(text) : 0;

	if (size == 0 || size > CHECK_URI_MAX || text[0] != '/')
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static void read_uri(struct json_reader *reader, json_t *value, void *into)
{
	struct check_targets *targets = ((struct draft *)into)->targets;
	char expected[128];

	snprintf(expected, sizeof(expected),
		"a path that starts with '/', of at most %d characters, without spaces or control characters",
		CHECK_URI_MAX);
	if (!is_uri(json_string_value(value)))
		json_reader_reject(reader, value, JSON_STRING, expected);
	else if (!(targets->http_uri = strdup(json_string_value(value))))
		json_reader_error(reader, "out of memory");
}

static bool is_service(const char *text)
{
	size_t size = text ? strlen(text) : 0;

	for (size_t i = 0; i < size; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return size > 0 && size <= CHECK_GRPC_SERVICE_MAX;
}

static void read_service(struct json_reader *reader, json_t *value, void *into)
{
	struct check_targets *targets = ((struct draft *)into)->targets;

	if (!is_service(json_string_value(value)))
		json_reader_reject(reader, value, JSON_STRING, CHECK_GRPC_SERVICE_FORM);
	else if (!(targets->grpc_service = strdup(json_string_value(value))))
		json_reader_error(reader, "out of memory");
}

static void read_command(struct json_reader *reader, json_t *value, void *into)
{
	char **command = &((struct draft *)into)->targets->command;
	const char *text = json_string_value(value);

	if (!text || !check_command_name_is_valid(text))
		json_reader_reject(reader, value, JSON_STRING, CHECK_COMMAND_NAME_FORM);
	else if (!(*command = strdup(text)))
		json_reader_error(reader, "out of memory");
}

/* Returns the setting whose member is being read: http_host is the setting `host`. */
static enum http_setting setting_of(const struct json_reader *reader)
{
	return http_setting_find(reader->steps[reader->depth - 1].key + strlen("http_"));
}

static void store(struct json_reader *reader, struct http_settings *http, enum http_setting setting, const char *value)
{
	http->values[setting] = strdup(value);
	if (!http->values[setting])
		json_reader_error(reader, "out of memory");
}

static void read_setting(struct json_reader *reader, json_t *value, void *into)
{
	enum http_setting setting = setting_of(reader);
	bool is_bool = http_setting_is_bool(setting);
	const char *text = json_string_value(value), *fault;

	if (is_bool)
		text = json_is_true(value) ? "true" : json_is_false(value) ? "false" : NULL;
	fault = http_setting_fault(setting, text ? text : "");
	if (fault)
		json_reader_reject(reader, value, is_bool ? JSON_TRUE : JSON_STRING, fault);
	else
		store(reader, ((struct draft *)into)->http, setting, text);
}

static void read_headers(struct json_reader *reader, json_t *value, void *into)
{
	char **headers = &((struct draft *)into)->http->values[HTTP_HEADERS];
	const char *name;
	json_t *member;

	if (!json_is_object(value) || json_object_size(value) == 0 || json_object_size(value) > HTTP_HEADERS_MAX)
		json_reader_error(reader, "is not an object of 1 to %d headers: {\"NAME\": \"VALUE\"}", HTTP_HEADERS_MAX);
	json_object_foreach(value, name, member)
	{
		const char *text = json_string_value(member);
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

#define X(symbol, name) {"http_" name, NULL, HTTP_##symbol == HTTP_HEADERS ? read_headers : read_setting},

void table_json_health_defaults(
	struct json_reader *reader, json_t *value, struct check_timing *timing, struct http_settings *http)
{
	static const struct json_field fields[] = {{"interval_ms", NULL, read_interval},
		{"timeout_ms", NULL, read_timeout}, {"trigger", NULL, read_trigger},
		{"trigger_healthy", NULL, read_trigger_healthy}, {"trigger_unhealthy", NULL, read_trigger_unhealthy},
		HTTP_TABLE_SETTINGS(X)};
	struct draft draft = {.timing = timing, .http = http};

	json_reader_object(reader, value, fields, COUNT(fields), &draft);
	if (!timing->trigger_healthy)
		timing->trigger_healthy = draft.trigger;
	if (!timing->trigger_unhealthy)
		timing->trigger_unhealthy = draft.trigger;
}

void table_json_health_targets(struct json_reader *reader, json_t *value, struct check_targets *targets)
{
	static const struct json_field fields[] = {{"http", NULL, read_http}, {"http_uri", NULL, read_uri},
		{"grpc", NULL, read_grpc}, {"grpc_service", NULL, read_service}, {"tcp", NULL, read_tcp},
		{"gue", NULL, read_gue}, {"fou", NULL, read_fou}, {"command", NULL, read_command},
		HTTP_TABLE_SETTINGS(X)};
	struct http_settings http = {0}, none = {0};
	struct draft draft = {.targets = targets, .http = &http};

	json_reader_object(reader, value, fields, COUNT(fields), &draft);
	if (memcmp(&http, &none, sizeof(http)) == 0)
		return;
	targets->http_settings = malloc(sizeof(http));
	if (targets->http_settings) {
		*targets->http_settings = http;
		return;
	}
	http_settings_free(&http);
	json_reader_error(reader, "out of memory");
}

void table_json_health_lint(const struct table_health *health, struct faults *faults)
{
	for (uint32_t t = 0; t < health->count; t++)
		for (uint32_t b = 0; b < health->tables[t].backend_count; b++) {
			struct http_settings settings = {0};
			const char *fault;
			char where[64];

			if (!health->tables[t].backends[b].http)
				continue;
			table_health_http(health, t, b, &settings);
			fault = http_settings_fault(&settings);
			snprintf(where, sizeof(where), "tables[%u].backends[%u].healthchecks", t, b);
			if (fault)
				faults_error(faults, where, "%s", fault);
		}
}
