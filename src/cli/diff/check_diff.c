/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/check_diff.h"

#include <stdlib.h>
#include <string.h>

#include "table/file/json/json_text.h"
#include "table/file/table_document.h"
#include "table/file/table_health_text.h"
#include "table/file/json/table_json.h"
#include "table/file/table_load.h"

/* Reads a table that could be loaded. The document stays empty if it is binary. */
static void read_document(const char *path, struct table_document *document)
{
	struct faults ignored = {.file = path};
	char *text;
	size_t size;

	*document = (struct table_document){0};
	if (table_load_version(path) || table_load_text(path, &text, &size, &ignored)) {
		faults_clear(&ignored);
		return;
	}
	table_json_parse_document(text, size, document, &ignored);
	free(text);
	faults_clear(&ignored);
}

/* The checks of a backend, with all settings that its file has for them. */
struct checks {
	struct http_settings http;
	char *text;
};

static void read_checks(const struct table_document *document, uint32_t table, uint32_t backend, struct checks *checks)
{
	*checks = (struct checks){0};
	table_health_http(&document->health, table, backend, &checks->http);
	checks->text = table_health_text(&document->health.tables[table].backends[backend], &checks->http);
}

static const char *headers_of(const struct checks *checks)
{
	return checks->http.values[HTTP_HEADERS] ? checks->http.values[HTTP_HEADERS] : "";
}

static void compare(json_t *lines, const char *table, const char *addr, const struct checks *old, const struct checks *new)
{
	char *line = NULL;
	int size = 0;

	if (!old->text || !new->text)
		return;
	if (strcmp(old->text, new->text) != 0)
		size = asprintf(&line, "%s: backend %s: checks: %s -> %s", table, addr, old->text, new->text);
	else if (strstr(new->text, "headers") && strcmp(headers_of(old), headers_of(new)) != 0)
		size = asprintf(&line, "%s: backend %s: checks: other http_headers", table, addr);
	if (size > 0) {
		json_array_append_new(lines, json_text(line));
		free(line);
	}
}

static void compare_tables(
	json_t *lines, const struct table_document *before, uint32_t b, const struct table_document *after, uint32_t a)
{
	const struct table *old = &before->set.tables[b], *new = &after->set.tables[a];

	uint32_t *order = table_backend_order(old);

	for (uint32_t i = 0; i < new->backend_count; i++) {
		uint32_t j = table_find_backend(old, order, &new->backends[i].addr);
		char addr[NETADDR_TEXT_MAX], label[16];
		struct checks first, second;

		if (j == old->backend_count)
			continue;
		read_checks(before, b, j, &first);
		read_checks(after, a, i, &second);
		compare(lines, table_label(&after->set, a, label), netaddr_format(&new->backends[i].addr, addr), &first,
			&second);
		free(first.text);
		free(second.text);
	}
	free(order);
}

json_t *check_diff(const char *before, const char *after)
{
	struct table_document old, new;
	json_t *lines = json_array();
	char label[16], other[16];

	read_document(before, &old);
	read_document(after, &new);
	for (uint32_t a = 0; a < new.set.count; a++)
		for (uint32_t b = 0; b < old.set.count; b++)
			if (strcmp(table_label(&new.set, a, label), table_label(&old.set, b, other)) == 0)
				compare_tables(lines, &old, b, &new, a);
	table_document_free(&old);
	table_document_free(&new);
	return lines;
}
