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

/* The settings that a grpc check uses, too. */
static bool is_for_grpc(enum http_setting setting)
{
	return setting == HTTP_HOST || setting == HTTP_TLS || setting == HTTP_VERIFY;
}

static void print_http(FILE *to, const struct http_settings *http, bool grpc)
{
	const char *separator = " (";

	for (enum http_setting i = 0; http && i < HTTP_SETTING_COUNT; i++) {
		const char *value = http->values[i];

		if (!value || (grpc && !is_for_grpc(i)))
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
		/* What follows the port; NULL: nothing. */
		const char *path;
	} checks[] = {{"http", targets->http, targets->http_uri}, {"grpc", targets->grpc, targets->grpc_service},
		{"tcp", targets->tcp, NULL}, {"gue", targets->gue, NULL}, {"fou", targets->fou, NULL}};
	const char *separator = "";

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (!checks[i].port)
			continue;
		fprintf(to, "%s%s %u", separator, checks[i].name, checks[i].port);
		separator = ", ";
		if (checks[i].path)
			fprintf(to, " %s", checks[i].path);
		if (i <= 1)
			print_http(to, http, i == 1);
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
