/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/table_json_health.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct timing_draft {
	struct check_timing *timing;
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
	struct timing_draft *draft = into;

	read_unsigned(reader, value, CHECK_INTERVAL_MS_MIN, CHECK_TIMING_MS_MAX, &draft->timing->interval_ms);
}

static void read_timeout(struct json_reader *reader, json_t *value, void *into)
{
	struct timing_draft *draft = into;

	read_unsigned(reader, value, CHECK_TIMEOUT_MS_MIN, CHECK_TIMING_MS_MAX, &draft->timing->timeout_ms);
}

static void read_trigger(struct json_reader *reader, json_t *value, void *into)
{
	struct timing_draft *draft = into;

	read_unsigned(reader, value, 1, CHECK_TRIGGER_MAX, &draft->trigger);
}

static void read_trigger_healthy(struct json_reader *reader, json_t *value, void *into)
{
	struct timing_draft *draft = into;

	read_unsigned(reader, value, 1, CHECK_TRIGGER_MAX, &draft->timing->trigger_healthy);
}

static void read_trigger_unhealthy(struct json_reader *reader, json_t *value, void *into)
{
	struct timing_draft *draft = into;

	read_unsigned(reader, value, 1, CHECK_TRIGGER_MAX, &draft->timing->trigger_unhealthy);
}

void table_json_health_timing(struct json_reader *reader, json_t *value, struct check_timing *timing)
{
	static const struct json_field fields[] = {
		{"interval_ms", NULL, read_interval},
		{"timeout_ms", NULL, read_timeout},
		{"trigger", NULL, read_trigger},
		{"trigger_healthy", NULL, read_trigger_healthy},
		{"trigger_unhealthy", NULL, read_trigger_unhealthy},
	};
	struct timing_draft draft = {.timing = timing};

	json_reader_object(reader, value, fields, COUNT(fields), &draft);
	if (!timing->trigger_healthy)
		timing->trigger_healthy = draft.trigger;
	if (!timing->trigger_unhealthy)
		timing->trigger_unhealthy = draft.trigger;
}

static void read_port(struct json_reader *reader, const json_t *value, uint16_t *port)
{
	json_int_t number;

	if (json_reader_integer(reader, value, 1, UINT16_MAX, &number))
		*port = (uint16_t)number;
}

static void read_http(struct json_reader *reader, json_t *value, void *into)
{
	read_port(reader, value, &((struct check_targets *)into)->http);
}

static void read_tcp(struct json_reader *reader, json_t *value, void *into)
{
	read_port(reader, value, &((struct check_targets *)into)->tcp);
}

static void read_gue(struct json_reader *reader, json_t *value, void *into)
{
	read_port(reader, value, &((struct check_targets *)into)->gue);
}

static void read_fou(struct json_reader *reader, json_t *value, void *into)
{
	read_port(reader, value, &((struct check_targets *)into)->fou);
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
	struct check_targets *targets = into;
	char expected[128];

	snprintf(expected, sizeof(expected),
		"a path that starts with '/', of at most %d characters, without spaces or control characters",
		CHECK_URI_MAX);
	if (!is_uri(json_string_value(value)))
		json_reader_reject(reader, value, JSON_STRING, expected);
	else if (!(targets->http_uri = strdup(json_string_value(value))))
		json_reader_error(reader, "out of memory");
}

void table_json_health_targets(struct json_reader *reader, json_t *value, struct check_targets *targets)
{
	static const struct json_field fields[] = {
		{"http", NULL, read_http},
		{"http_uri", NULL, read_uri},
		{"tcp", NULL, read_tcp},
		{"gue", NULL, read_gue},
		{"fou", NULL, read_fou},
	};

	json_reader_object(reader, value, fields, COUNT(fields), targets);
}
