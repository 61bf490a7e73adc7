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

static void print_http(FILE *to, const struct http_settings *http)
{
	const char *separator = " (";

	for (enum http_setting i = 0; http && i < HTTP_SETTING_COUNT; i++) {
		const char *value = http->values[i];

		if (!value)
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
	const struct {
		const char *name;
		uint16_t port;
	} checks[] = {{"http", targets->http}, {"tcp", targets->tcp}, {"gue", targets->gue}, {"fou", targets->fou}};
	const char *separator = "";

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (!checks[i].port)
			continue;
		fprintf(to, "%s%s %u", separator, checks[i].name, checks[i].port);
		separator = ", ";
		if (i == 0 && targets->http_uri)
			fprintf(to, " %s", targets->http_uri);
		if (i == 0)
			print_http(to, http);
	}
	if (targets->command)
		fprintf(to, "%scommand %s", separator, targets->command);
	if (!check_targets_any(targets))
		fputs("none", to);
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
