/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cli/capture/capture_text.h"
#include "cli/cli.h"
#include "table/file/table_load.h"

/* Returns true if the verb of `edit` changes backends in this state. NULL: the subcommand has no verb. */
static bool is_wanted(const char *verb, const struct table_backend *backend)
{
	if (verb && strcmp(verb, "drain") == 0)
		return backend->state != TABLE_DRAINING;
	if (verb && strcmp(verb, "undrain") == 0)
		return backend->state == TABLE_DRAINING;
	return !verb || strcmp(verb, "remove") == 0 || strcmp(verb, "set") == 0;
}

static void offer_backends(const struct table_set *set, const char *verb)
{
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t i = 0; i < set->tables[t].backend_count; i++) {
			const struct table_backend *backend = &set->tables[t].backends[i];
			char address[NETADDR_TEXT_MAX], help[64], label[16];

			snprintf(help, sizeof(help), "%s, %s, table %.24s", table_state_name(backend->state),
				cli_health_name(backend->healthy), table_label(set, t, label));
			if (is_wanted(verb, backend))
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

/* Reads the first operand that is a table: simulate has its script before it. The rows of a JSON table are not built,
 * because the shell waits. */
static void offer_from_table(const char *what, const struct command_args *args)
{
	struct faults faults = {0};
	struct table_set set = {0};

	for (int i = 0; i < args->count && set.count == 0; i++)
		if (table_load_json(args->operands[i], &set, &faults) < 0)
			table_load_binary(args->operands[i], &set, NULL, &faults);
	if (strcmp(what, "--table") == 0)
		offer_tables(&set);
	else
		offer_backends(&set, strcmp(what, "WORD") == 0 ? args->operands[1] : NULL);
	table_set_free(&set);
	faults_clear(&faults);
}

void cli_values(const char *what, const struct command_args *args)
{
	if (strcmp(what, "VERB") == 0)
		edit_offer_verbs();
	else if (strcmp(what, "ACTION") == 0)
		rollout_offer_actions();
	else if (strcmp(what, "--state") == 0)
		for (uint8_t state = TABLE_FILLING; state <= TABLE_INACTIVE; state++)
			command_offer(table_state_name(state), NULL);
	else if (strcmp(what, "--verdict") == 0)
		capture_text_offer();
	else if (args->count > 0 && (strcmp(what, "--table") == 0 || strcmp(what, "--copy-checks-from") == 0 ||
					    strcmp(what, "WORD") == 0 || strcmp(what, "CID/IP") == 0))
		offer_from_table(what, args);
}
