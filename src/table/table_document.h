/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A JSON table that is kept as a document: `healthy` of its backends can be set, and the text is written back with
 * every other member as it was. table_json_parse_document() fills it. Not thread-safe.
 */
#ifndef GLB_TABLE_TABLE_DOCUMENT_H
#define GLB_TABLE_TABLE_DOCUMENT_H

#include <jansson.h>

#include "table/table.h"
#include "table/table_health.h"

struct table_document {
	json_t *root; /* valid: table_json has read it without errors */
	/* What the document says, without rows; tables and backends have the document's indices. */
	struct table_set set;
	struct table_health health;
};

/* Frees all; *document is empty and usable again. */
void table_document_free(struct table_document *document);

/* Sets `healthy` of a backend in the document and in the set. False: out of memory. */
bool table_document_set_healthy(struct table_document *document, uint32_t table, uint32_t backend, bool healthy);

/* The document as text: members in their order, indented by two. malloc'd; NULL: out of memory. */
char *table_document_text(const struct table_document *document, size_t *size);

#endif
