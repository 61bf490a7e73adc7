/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads any bytes as a JSON table. The result must be an error with a text, or a table set that can be built. */
#include <stdlib.h>
#include <string.h>

#include "table/file/json/table_json.h"
#include "table/file/table_document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_past(const struct table *table)
{
	if (table->past_count > TABLE_MAX_PAST || table->balance > TABLE_MAX_BALANCE)
		abort();
	for (uint32_t p = 0; p < table->past_count; p++) {
		const struct table_past *past = &table->past[p];

		if (past->balance > TABLE_MAX_BALANCE || (past->balance && past->balance < TABLE_MIN_BALANCE))
			abort();
		for (uint32_t i = 0; i < past->backend_count; i++)
			if (past->backends[i].addr.family != table->backends[0].addr.family || !past->backends[i].weight)
				abort();
	}
}

static void check_set(const struct table_set *set)
{
	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];
		uint32_t used = 0;

		check_past(table);
		for (uint32_t i = 0; i < table->backend_count; i++) {
			used += table->backends[i].state != TABLE_INACTIVE;
			if (table->backends[i].addr.family == NETADDR_NONE ||
				table->backends[i].addr.family != table->backends[0].addr.family)
				abort();
		}
		for (uint32_t i = 0; i < table->bind_count; i++)
			if (table->binds[i].prefix.addr.family == NETADDR_NONE ||
				table->binds[i].port_start > table->binds[i].port_end || !table->binds[i].protocol)
				abort();
		if (!used || table->hops < TABLE_MIN_HOPS || table->hops > TABLE_MAX_HOPS)
			abort();
	}
}

/* The text that glb-healthcheck writes is valid, too, and is not changed again. */
static void check_text(const struct table_document *document)
{
	struct faults faults = {0};
	struct table_document again;
	size_t size, same;
	char *text = table_document_text(document, &size), *twice;

	if (strlen(document->text) != document->size)
		abort();
	if (table_json_parse_document(text, size, &again, &faults) != 0)
		abort();
	twice = table_document_text(&again, &same);
	if (same != size || memcmp(text, twice, size) != 0)
		abort();
	table_document_free(&again);
	faults_clear(&faults);
	free(text);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faults faults = {.file = "f"};
	struct table_document document = {0};

	if (table_json_parse_document((const char *)data, size, &document, &faults) == 0) {
		check_set(&document.set);
		check_text(&document);
	} else if (!faults.errors || document.set.tables) {
		abort();
	}
	table_document_free(&document);
	faults_clear(&faults);
	return 0;
}
