/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cli/cli.h"
#include "table/file/table_load.h"

static void offer_backends(const struct table_set *set)
{
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t i = 0; i < set->tables[t].backend_count; i++) {
			const struct table_backend *backend = &set->tables[t].backends[i];
			char address[NETADDR_TEXT_MAX], help[64], label[16];

			snprintf(help, sizeof(help), "%s, %s, table %.24s", table_state_name(backend->state),
				cli_health_name(backend->healthy), table_label(set, t, label));
			command_offer(netaddr_format(&backend->addr, address), help);
		}
}

static void offer_tables(const struct table_set *set)
{
	for (uint32_t t = 0; t < set->count; t++) {
		char label[16];

		command_offer(table_label(set, t, label), NULL);
	}
}

void cli_values(const char *what, const struct command_args *args)
{
	bool tables = strcmp(what, "--table") == 0;
	struct faults faults = {0};
	struct table_set set = {0};

	if (args->count == 0 || (!tables && strcmp(what, "BACKEND") != 0 && strcmp(what, "ADDRESS") != 0))
		return;
	/* The rows of a JSON table are not built, because the shell waits. */
	if (table_load_json(args->operands[0], &set, &faults) == 0 ||
		table_load_binary(args->operands[0], &set, NULL, &faults) == 0) {
		if (tables)
			offer_tables(&set);
		else
			offer_backends(&set);
	}
	table_set_free(&set);
	faults_clear(&faults);
}
