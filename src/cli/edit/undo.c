/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/edit/change.h"
#include "table/file/table_load.h"

static const struct command_option options[] = {
	CHANGE_OPTION_LIST,
	{0},
};

/* Makes the version before the last edit the new one. */
static bool take_back(struct change *change)
{
	struct faults faults = {.file = change->backup};
	char *text;
	size_t size;

	if (table_load_text(change->backup, &text, &size, &faults) == 0) {
		free(change->after.text);
		change->after = (struct json_edit){text, size};
		return true;
	}
	cli_print_faults(&faults, FAULTS_ERRORS);
	command_error("%s: there is no edit to take back: edit keeps the previous version in %s", change->named,
		change->backup);
	return false;
}

static int undo_run(const struct command_args *args)
{
	struct change change;
	int code = COMMAND_FAILED;

	if (change_open(&change, args->operands[0], args) && take_back(&change))
		code = change_finish(&change, args, CHANGE_EXCHANGE);
	change_close(&change);
	return code;
}

const struct command undo_command = {
	.name = "undo",
	.run = undo_run,
	.operands = "TABLE.json",
	.summary = "Take the last edit of a JSON table back, or forward again",
	.options = options,
};
