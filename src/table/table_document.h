/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A JSON control file that is kept as a document, so that `healthy` can be written and every other
 * member stays as it was; and what the file says about health checks. Not thread-safe.
 */
#ifndef GLB_TABLE_TABLE_DOCUMENT_H
#define GLB_TABLE_TABLE_DOCUMENT_H

#include <jansson.h>

#include "common/faults.h"
#include "table/table.h"

struct table_document {
	json_t *root; /* valid */
	struct table_set set; /* the same as tables, without rows; its backends have the same indices */
};

/* Wherever timing is set: in the document, and in healthcheck.conf. */
#define TABLE_INTERVAL_MS_MIN 10
#define TABLE_TIMEOUT_MS_MIN  1
#define TABLE_TIMING_MS_MAX   3600000
#define TABLE_TRIGGER_MAX     1000
#define TABLE_HTTP_URI_MAX    2048 /* characters */

/* How often, and how many results in a row change a verdict. */
struct table_timing {
	unsigned interval_ms, timeout_ms;
	unsigned trigger_healthy, trigger_unhealthy;
};

/* A backend's checks: ports, 0 where there is none. */
struct table_checks {
	uint16_t http, tcp, gue, fou;
	const char *http_uri; /* owned by the document; "/" unless given */
};

/* As table_json_parse(); on 0 the caller frees *document. */
int table_document_parse(const char *text, size_t size, struct table_document *document, struct faults *faults);
void table_document_free(struct table_document *document);

/* Changes what the document says for all tables, then what it says for this one; leaves the rest.
 */
void table_document_timing(const struct table_document *document, uint32_t table, struct table_timing *timing);

struct table_checks table_document_checks(const struct table_document *document, uint32_t table, uint32_t backend);

/* In the document and in the set. False: out of memory. */
bool table_document_set_healthy(struct table_document *document, uint32_t table, uint32_t backend, bool healthy);

/* The document as text: members in their order, indented by two. malloc'd; NULL: out of memory. */
char *table_document_text(const struct table_document *document, size_t *size);

#endif
