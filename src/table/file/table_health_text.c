/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/table_health_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}
