/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A JSON table that is kept as text: `healthy` of its backends can be set, and every other byte stays as it was.
 * table_json_parse_document() fills it. Not thread-safe.
 */
#pragma once

#include <stddef.h>

#include "table/file/table_health.h"
#include "table/table.h"

struct table_document {
	/* table_json has read it without errors; owned, with a NUL after it. */
	char *text;
	size_t size;
	/* The content of the document, without rows. Tables and backends have the same indices as in the document. */
	struct table_set set;
	struct table_health health;
};

/* Frees everything. *document is then empty and can be used again. */
void table_document_free(struct table_document *document);

/* Returns the document's text of *size bytes, with `healthy` of each backend as in the set. A member that is missing is
 * added as the last one. malloc'd, the caller frees. NULL: out of memory. */
char *table_document_text(const struct table_document *document, size_t *size);
