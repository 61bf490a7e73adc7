/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cli/edit/edit.h"

static const struct command_option options[] = {
	CHANGE_OPTION_LIST,
	[EDIT_TABLE] = {"table", "NAME|#INDEX", "change this table"},
	[EDIT_ALL_TABLES] = {"all-tables", NULL, "change every table"},
	[EDIT_STATE] = {"state", "STATE", "add: state of the new backend (default: active)"},
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

static const struct {
	const char *name;
	bool (*run)(struct edit *edit);
} verbs[] = {
	{"add", edit_add},
	{"remove", edit_remove},
	{"drain", edit_drain},
	{"undrain", edit_undrain},
	{"set", edit_set},
	{"balance", edit_balance},
	{"forget", edit_forget},
	{"add-bind", edit_add_bind},
	{"remove-bind", edit_remove_bind},
};

static int find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return (int)i;
	return -1;
}

void edit_offer_verbs(void)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		command_offer(verbs[i].name, NULL);
}

/* Checks the words that do not depend on the file. */
static int check_usage(const struct command_args *args)
{
	const char *verb = args->operands[1];
	uint32_t timeout;
	bool adds = strcmp(verb, "add") == 0, forgets = strcmp(verb, "forget") == 0;

	if (find_verb(verb) < 0)
		return command_usage(
			"edit: '%s' is none of add, remove, drain, undrain, set, balance, forget, add-bind, remove-bind",
			verb);
	if (args->count == 2 && !forgets)
		return usage(verb, "an operand is missing");
	if (args->options[EDIT_TABLE] && args->options[EDIT_ALL_TABLES])
		return usage(verb, "--table and --all-tables exclude each other");
	if (!adds && (args->options[EDIT_STATE] || args->options[EDIT_COPY_CHECKS]))
		return usage(verb, "--state and --copy-checks-from are for add");
	if (args->options[EDIT_PROXIES] && !forgets && strcmp(verb, "remove") != 0)
		return usage(verb, "--proxies is for remove and forget");
	if (args->options[EDIT_WAIT] && !(forgets && args->options[EDIT_PROXIES]))
		return usage(verb, "--wait is for forget --proxies");
	if (args->options[CHANGE_KEEP] && forgets && args->options[EDIT_PROXIES])
		return usage(verb, "--keep and --proxies exclude each other");
	if (!telemetry_timeout(args, &timeout))
		return COMMAND_USAGE;
	return edit_check_operands(verb, args->operands + 2, args->count - 2, args->options);
}

static int edit_run(const struct command_args *args)
{
	struct edit edit = {
		.operands = args->operands + 2,
		.count = args->count - 2,
		.state = args->options[EDIT_STATE] ? args->options[EDIT_STATE] : "active",
		.copy_checks_from = args->options[EDIT_COPY_CHECKS],
		.args = args,
		.failed = COMMAND_FAILED,
	};
	int code = check_usage(args);

	if (code != COMMAND_OK)
		return code;
	if (change_open(&edit.change, args->operands[0], args) && select_tables(&edit, args) &&
		verbs[find_verb(args->operands[1])].run(&edit))
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
	.note = "VERB WORD... is one of:\n"
		"  add IP...                   add backends\n"
		"  remove IP...                remove backends\n"
		"  drain IP...                 set their state to draining: no new connections\n"
		"  undrain IP...               set their state to active\n"
		"  set IP... KEY=VALUE...      set members of backends (VALUE none removes one)\n"
		"  set KEY=VALUE...            set members of a table\n"
		"  balance NUMBER|off          let no proxy be first in more than NUMBER times\n"
		"                              its fair share of rows: 1.005 to 2, such as 1.02\n"
		"  forget                      drop previous states that are older than --keep,\n"
		"                              or that --proxies prove to be unused\n"
		"  add-bind BIND...            add binds, such as 203.0.113.10:443/tcp,\n"
		"                              203.0.113.64/29:22/tcp, [2001:db8::1]:80-443/udp\n"
		"  remove-bind BIND...         remove binds",
	.more = edit_print_keys,
};
