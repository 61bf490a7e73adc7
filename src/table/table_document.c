/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/table_document.h"

#include <stdlib.h>
#include <string.h>

#include "table/table_json.h"

int table_document_parse(const char *text, size_t size, struct table_document *document, struct faults *faults)
{
	*document = (struct table_document){0};
	return table_json_load(text, size, &document->root, &document->set, faults);
}

void table_document_free(struct table_document *document)
{
	json_decref(document->root);
	table_set_free(&document->set);
	*document = (struct table_document){0};
}

static json_t *table_at(const struct table_document *document, uint32_t table)
{
	return json_array_get(json_object_get(document->root, "tables"), table);
}

static json_t *backend_at(const struct table_document *document, uint32_t table, uint32_t backend)
{
	return json_array_get(json_object_get(table_at(document, table), "backends"), backend);
}

/* Values were checked when the document was read. */
static void override(const json_t *from, const char *key, unsigned *value)
{
	const json_t *member = json_object_get(from, key);

	if (member)
		*value = (unsigned)json_integer_value(member);
}

static void override_timing(const json_t *from, struct table_timing *timing)
{
	override(from, "interval_ms", &timing->interval_ms);
	override(from, "timeout_ms", &timing->timeout_ms);
	override(from, "trigger", &timing->trigger_healthy);
	override(from, "trigger", &timing->trigger_unhealthy);
	override(from, "trigger_healthy", &timing->trigger_healthy);
	override(from, "trigger_unhealthy", &timing->trigger_unhealthy);
}

void table_document_timing(const struct table_document *document, uint32_t table, struct table_timing *timing)
{
	override_timing(json_object_get(document->root, "healthchecks"), timing);
	override_timing(json_object_get(table_at(document, table), "healthchecks"), timing);
}

static uint16_t port_of(const json_t *checks, const char *key)
{
	return (uint16_t)json_integer_value(json_object_get(checks, key));
}

struct table_checks table_document_checks(const struct table_document *document, uint32_t table, uint32_t backend)
{
	const json_t *checks = json_object_get(backend_at(document, table, backend), "healthchecks");
	const char *uri = json_string_value(json_object_get(checks, "http_uri"));

	return (struct table_checks){
		.http = port_of(checks, "http"),
		.tcp = port_of(checks, "tcp"),
		.gue = port_of(checks, "gue"),
		.fou = port_of(checks, "fou"),
		.http_uri = uri ? uri : "/",
	};
}

bool table_document_set_healthy(struct table_document *document, uint32_t table, uint32_t backend, bool healthy)
{
	document->set.tables[table].backends[backend].healthy = healthy;
	return json_object_set_new(backend_at(document, table, backend), "healthy", json_boolean(healthy)) == 0;
}

char *table_document_text(const struct table_document *document, size_t *size)
{
	char *text = json_dumps(document->root, JSON_INDENT(2));
	char *line;

	if (!text)
		return NULL;
	*size = strlen(text) + 1;
	line = realloc(text, *size + 1);
	if (!line) {
		free(text);
		return NULL;
	}
	memcpy(line + *size - 1, "\n", 2);
	return line;
}
