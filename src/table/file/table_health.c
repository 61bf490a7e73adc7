/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/table_health.h"
#include "common/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void override(unsigned *value, unsigned with)
{
	if (with)
		*value = with;
}

static void override_timing(struct check_timing *timing, const struct check_timing *with)
{
	override(&timing->interval_ms, with->interval_ms);
	override(&timing->timeout_ms, with->timeout_ms);
	override(&timing->trigger_healthy, with->trigger_healthy);
	override(&timing->trigger_unhealthy, with->trigger_unhealthy);
}

void table_health_timing(const struct table_health *health, uint32_t table, struct check_timing *timing)
{
	override_timing(timing, &health->defaults.timing);
	override_timing(timing, &health->tables[table].defaults.timing);
}

void table_health_http(const struct table_health *health, uint32_t table, uint32_t backend, struct http_settings *settings)
{
	http_settings_override(settings, &health->defaults.http);
	http_settings_override(settings, &health->tables[table].defaults.http);
	http_settings_override(settings, health->tables[table].backends[backend].http_settings);
}

static bool has_checks(const struct table_health *health)
{
	for (uint32_t t = 0; t < health->count; t++)
		for (uint32_t b = 0; b < health->tables[t].backend_count; b++)
			if (check_targets_any(&health->tables[t].backends[b]))
				return true;
	return false;
}

void table_health_warn(const struct table_health *health, struct faults *faults)
{
	/* Without any check, health checks do not write this table. */
	bool checked = has_checks(health);

	for (uint32_t t = 0; checked && t < health->count; t++) {
		uint32_t first = 0, count = 0;
		char where[64], others[48] = "";

		for (uint32_t b = 0; b < health->tables[t].backend_count; b++) {
			const struct check_targets *targets = &health->tables[t].backends[b];

			if (targets->marked_unhealthy && !check_targets_any(targets) && count++ == 0)
				first = b;
		}
		if (!count)
			continue;
		snprintf(where, sizeof(where), "tables[%u].backends[%u].healthy", t, first);
		if (count > 1)
			snprintf(others, sizeof(others), " (and %u more in this table)", count - 1);
		faults_warn(faults, where,
			"is false, and this backend has no checks: it gets no new connections until you change that%s",
			others);
	}
}

static void free_targets(struct check_targets *targets)
{
	for (enum check_kind kind = 0; kind < CHECK_KIND_COUNT; kind++)
		free(targets->texts[kind]);
	http_settings_free(targets->http_settings);
	free(targets->http_settings);
}

void table_health_free(struct table_health *health)
{
	for (uint32_t t = 0; t < health->count; t++) {
		for (uint32_t b = 0; b < health->tables[t].backend_count; b++)
			free_targets(&health->tables[t].backends[b]);
		free(health->tables[t].backends);
		http_settings_free(&health->tables[t].defaults.http);
	}
	free(health->tables);
	http_settings_free(&health->defaults.http);
	*health = (struct table_health){0};
}

/* "X-Token X-Other": the names in a list of headers. */
static void print_names(FILE *to, const char *headers)
{
	for (const char *line = headers; *line; line = strchr(line, '\n') + 1)
		fprintf(to, " %.*s", (int)strcspn(line, ":"), line);
}

static bool is_used(enum check_http_use use, enum http_setting setting)
{
	return use == CHECK_ALL_HTTP ||
	       (use == CHECK_HTTP_TARGET && (setting == HTTP_HOST || setting == HTTP_TLS || setting == HTTP_VERIFY));
}

static void print_http(FILE *to, const struct http_settings *http, enum check_http_use use)
{
	const char *separator = " (";

	for (enum http_setting i = 0; http && i < HTTP_SETTING_COUNT; i++) {
		const char *value = http->values[i];

		if (!value || !is_used(use, i))
			continue;
		fprintf(to, "%s%s", separator, http_setting_name(i));
		if (i == HTTP_HEADERS)
			print_names(to, value);
		else
			fprintf(to, " %s", value);
		separator = ", ";
	}
	fputs(*separator == ',' ? ")" : "", to);
}

static void print(FILE *to, const struct check_targets *targets, const struct http_settings *http)
{
	const char *separator = "";

	for (enum check_kind kind = 0; kind < CHECK_KIND_COUNT; kind++) {
		if (!check_targets_has(targets, kind))
			continue;
		fprintf(to, "%s%s", separator, check_kinds[kind].name);
		separator = ", ";
		if (targets->ports[kind])
			fprintf(to, " %u", targets->ports[kind]);
		if (targets->texts[kind])
			fprintf(to, " %s", targets->texts[kind]);
		print_http(to, http, check_kinds[kind].http);
	}
	fputs(*separator ? "" : "none", to);
}

char *table_health_text(const struct check_targets *targets, const struct http_settings *http)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	print(to, targets, http);
	return text_end(to, &text);
}
