/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads any bytes as a JSON table. The result must be an error with a text, or a table set that can be built. */
#include <stdlib.h>

#include "table/file/table_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_set(const struct table_set *set)
{
	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];
		uint32_t used = 0;

		for (uint32_t i = 0; i < table->backend_count; i++) {
			used += table->backends[i].state != TABLE_INACTIVE;
			if (table->backends[i].addr.family == NETADDR_NONE)
				abort();
		}
		for (uint32_t i = 0; i < table->bind_count; i++)
			if (table->binds[i].prefix.addr.family == NETADDR_NONE ||
				table->binds[i].port_start > table->binds[i].port_end || !table->binds[i].protocol)
				abort();
		if (!used || !table->name || table->hops < TABLE_MIN_HOPS || table->hops > TABLE_MAX_HOPS)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faults faults = {.file = "f"};
	struct table_set set;

	if (table_json_parse((const char *)data, size, &set, &faults) == 0)
		check_set(&set);
	else if (!faults.errors || set.tables)
		abort();
	table_set_free(&set);
	faults_clear(&faults);
	return 0;
}
