/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A JSON table that is kept as a document: `healthy` of its backends can be set, and the text is written back with
 * every other member as it was. table_json_parse_document() fills it. Not thread-safe.
 */
#ifndef GLB_TABLE_FILE_TABLE_DOCUMENT_H
#define GLB_TABLE_FILE_TABLE_DOCUMENT_H

#include <jansson.h>

#include "table/file/table_health.h"
#include "table/table.h"

struct table_document {
	json_t *root; /* table_json has read it without errors; owned */
	/* The content of the document, without rows. Tables and backends have the same indices as in the document. */
	struct table_set set;
	struct table_health health;
};

/* Frees everything. *document is then empty and can be used again. */
void table_document_free(struct table_document *document);

/* Sets `healthy` of a backend in the document and in the set. False: out of memory. */
bool table_document_set_healthy(struct table_document *document, uint32_t table, uint32_t backend, bool healthy);

/* Returns the document as text of *size bytes: members in their order, indented by two spaces, and a newline at the end.
 * malloc'd, the caller frees. NULL: out of memory. */
char *table_document_text(const struct table_document *document, size_t *size);

#endif
