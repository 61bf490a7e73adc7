/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses JSON tables, as docs/reference/table-json.md describes them. Each fault names its JSON path. Opens
 * no files. */
#pragma once

#include <stddef.h>

#include "common/faults.h"
#include "table/table.h"

/*
 * Parses and validates a JSON table, and collects all faults. 0: *set is filled, without rows; the caller frees it.
 * -EINVAL or -ENOMEM: the faults have errors, and *set is empty.
 */
int table_json_parse(const char *text, size_t size, struct table_set *set, struct faults *faults);

struct table_document;

/* Like table_json_parse(), but on 0 *document is filled, and the caller frees it with table_document_free(). */
int table_json_parse_document(const char *text, size_t size, struct table_document *document, struct faults *faults);

/* The same, thoroughly; if that finds errors, as the director does, which accepts more. faults->thorough says which. */
int table_json_parse_tolerant(const char *text, size_t size, struct table_document *document, struct faults *faults);
