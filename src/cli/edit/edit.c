/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cli/edit/edit.h"
#include "common/text.h"

static const struct command_option options[] = {
	CHANGE_OPTION_LIST,
	[EDIT_TABLE] = {"table", "NAME|#INDEX", "change this table"},
	[EDIT_ALL_TABLES] = {"all-tables", NULL, "change every table"},
	[EDIT_STATE] = {"state", "STATE", "add: state of the new backend", "active"},
	[EDIT_COPY_CHECKS] = {"copy-checks-from", "IP", "add: with the health checks of this backend"},
	[EDIT_PROXIES] = {"proxies", "FILE", "remove, forget: ask the proxies in FILE if connections need them"},
	[EDIT_WAIT] = {"wait", "TIME", "forget: time between two questions to the proxies (default: 1m)"},
	{0},
};

static int usage(const char *verb, const char *problem)
{
	return command_usage("edit: %s: %s", verb, problem);
}

static bool select_tables(struct edit *edit, const struct command_args *args)
{
	const char *name = args->options[EDIT_TABLE];
	uint32_t index;

	if (name) {
		if (!cli_find_table(&edit->change.old.set, edit->change.named, name, &index))
			return false;
		edit->selected[index] = true;
		return true;
	}
	for (uint32_t i = 0; i < edit->change.old.set.count; i++)
		edit->selected[i] = true;
	edit->unique = !args->options[EDIT_ALL_TABLES];
	return true;
}

bool edit_needs_one_table(const struct edit *edit)
{
	uint32_t count = edit->change.old.set.count;
	char *names = cli_table_names(&edit->change.old.set);

	if (count == 0)
		command_error("%s: has no table", edit->change.named);
	else if (edit->unique && count > 1)
		command_error("%s: has %u tables (%s): say which one with --table, or give --all-tables",
			edit->change.named, count, names ? names : "");
	free(names);
	return count > 0 && (!edit->unique || count == 1);
}

bool edit_check_matches(const struct edit *edit, const char *what, const char *operand, const bool *matches)
{
	const struct table_set *set = &edit->change.old.set;
	uint32_t count = 0, first = 0;
	char one[16], other[16];

	for (uint32_t i = 0; i < set->count; i++) {
		if (!matches[i])
			continue;
		if (count++ == 0)
			first = i;
		else if (edit->unique) {
			command_error(
				"%s: %s is a %s of the tables %s and %s: say which one with --table, or give --all-tables",
				edit->change.named, operand, what, table_label(set, first, one),
				table_label(set, i, other));
			return false;
		}
	}
	if (count == 0)
		command_error("%s: %s is not a %s of the selected tables", edit->change.named, operand, what);
	return count > 0;
}

bool edit_failed(const struct edit *edit)
{
	command_error("%s: the text cannot be changed: out of memory", edit->change.named);
	return false;
}

static const struct verb {
	const char *name;
	bool (*run)(struct edit *edit);
	/* Checks the words after the verb that do not depend on the file. Returns COMMAND_OK, or COMMAND_USAGE after an
	 * error. */
	int (*check)(const char *verb, char **operands, int count);
	const char *help; /* its lines in --help */
} verbs[] = {
	{"add", edit_add, edit_check_addresses, "  add IP...                   add backends\n"},
	{"remove", edit_remove, edit_check_addresses, "  remove IP...                remove backends\n"},
	{"drain", edit_drain, edit_check_addresses,
		"  drain IP...                 set their state to draining: no new connections\n"},
	{"undrain", edit_undrain, edit_check_addresses, "  undrain IP...               set their state to active\n"},
	{"set", edit_set, edit_check_settings,
		"  set IP... KEY=VALUE...      set members of backends (VALUE none removes one)\n"
		"  set BIND... KEY=VALUE...    set members of binds\n"
		"  set KEY=VALUE...            set members of a table\n"},
	{"balance", edit_balance, edit_check_balance,
		"  balance NUMBER|off          let no proxy be first in more than NUMBER times\n"
		"                              its fair share of rows: 1.005 to 2, such as 1.02\n"},
	{"forget", edit_forget, edit_check_forget,
		"  forget                      drop previous states that are older than --keep,\n"
		"                              or that --proxies prove to be unused\n"},
	{"add-bind", edit_add_bind, edit_check_binds,
		"  add-bind BIND...            add binds, such as 203.0.113.10:443/tcp,\n"
		"                              203.0.113.64/29:22/tcp, [2001:db8::1]:80-443/udp,\n"
		"                              203.0.113.10:443/quic\n"},
	{"remove-bind", edit_remove_bind, edit_check_binds, "  remove-bind BIND...         remove binds\n"},
	{"add-quic", edit_add_quic, edit_check_add_quic,
		"  add-quic ID [KEY=VALUE...]  add a QUIC configuration, and server IDs to the\n"
		"                              backends; server_id_length is 3, nonce_length 8,\n"
		"                              and key random (32 hex digits, or none) by default\n"},
	{"remove-quic", edit_remove_quic, edit_check_remove_quic,
		"  remove-quic ID...           remove QUIC configurations, and unused server IDs\n"},
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* Returns the verb; NULL, with an error: there is none. */
static const struct verb *find_verb(const char *name)
{
	char known[128] = "";
	size_t used = 0;

	for (size_t i = 0; i < VERBS; i++) {
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", verbs[i].name);
	}
	command_usage("edit: '%s' is none of %s", name, known);
	return NULL;
}

void edit_offer_verbs(void)
{
	for (size_t i = 0; i < VERBS; i++)
		command_offer(verbs[i].name, NULL);
}

static void print_verbs(void)
{
	puts("\nVERB WORD... is one of:");
	for (size_t i = 0; i < VERBS; i++)
		fputs(verbs[i].help, stdout);
	edit_print_keys();
}

/* Checks the words and options that do not depend on the file. */
static int check_usage(const struct command_args *args, const struct verb *does)
{
	const char *verb = does->name;
	const char *state = args->options[EDIT_STATE], *from = args->options[EDIT_COPY_CHECKS];
	const char *wait = args->options[EDIT_WAIT];
	uint32_t seconds;
	struct netaddr addr;
	bool adds = strcmp(verb, "add") == 0, forgets = strcmp(verb, "forget") == 0;

	if (args->count == 2 && !forgets)
		return usage(verb, "an operand is missing");
	if (args->options[EDIT_TABLE] && args->options[EDIT_ALL_TABLES])
		return usage(verb, "--table and --all-tables exclude each other");
	if (!adds && (state || from))
		return usage(verb, "--state and --copy-checks-from are for add");
	if (args->options[EDIT_PROXIES] && !forgets && strcmp(verb, "remove") != 0)
		return usage(verb, "--proxies is for remove and forget");
	if (wait && !(forgets && args->options[EDIT_PROXIES]))
		return usage(verb, "--wait is for forget --proxies");
	if (args->options[CHANGE_KEEP] && forgets && args->options[EDIT_PROXIES])
		return usage(verb, "--keep and --proxies exclude each other");
	if (state && !table_state_parse(state, &(uint8_t){0}))
		return command_usage("edit: --state: '%s' is none of active, filling, draining, inactive", state);
	if (from && !netaddr_parse(from, &addr))
		return command_usage("edit: --copy-checks-from: '%s' is not an address", from);
	if (wait && !text_duration(wait, EDIT_MAX_WAIT_S, &seconds))
		return command_usage("edit: --wait: '%s' is not a duration from 1s to 24h, such as 30s, 10m or 2h", wait);
	return does->check(verb, args->operands + 2, args->count - 2);
}

static int edit_run(const struct command_args *args)
{
	struct edit edit = {
		.operands = args->operands + 2,
		.count = args->count - 2,
		.state = args->values[EDIT_STATE],
		.copy_checks_from = args->options[EDIT_COPY_CHECKS],
		.args = args,
		.failed = COMMAND_FAILED,
	};
	const struct verb *verb = find_verb(args->operands[1]);
	int code = verb ? check_usage(args, verb) : COMMAND_USAGE;

	if (code != COMMAND_OK)
		return code;
	if (change_open(&edit.change, args->operands[0], args) && select_tables(&edit, args) && verb->run(&edit))
		code = change_finish(&edit.change, args, CHANGE_BACKUP_FIRST);
	else
		code = edit.failed;
	change_close(&edit.change);
	return code;
}

const struct command edit_command = {
	.name = "edit",
	.run = edit_run,
	.operands = "TABLE.json VERB [WORD...]",
	.summary = "Change backends and binds of a JSON table",
	.options = options,
	.more = print_verbs,
};
