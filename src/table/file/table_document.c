/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/table_document.h"

#include <stdlib.h>
#include <string.h>

void table_document_free(struct table_document *document)
{
	json_decref(document->root);
	table_set_free(&document->set);
	table_health_free(&document->health);
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
