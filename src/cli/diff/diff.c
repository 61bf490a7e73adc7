/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/diff/check_diff.h"
#include "cli/diff/diff_print.h"
#include "common/text.h"

enum { MAX_BROKEN, TABLE, JSON };

static const struct command_option options[] = {
	[MAX_BROKEN] = {"max-broken", "PCT", "exit with 3 only if more than PCT % of all rows break"},
	[TABLE] = {"table", "NAME|#INDEX", "print and count only this table of NEW"},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

static int unknown_table(const struct table_set_diff *result, const char *name)
{
	char *names = NULL, label[16];
	size_t size;
	FILE *out = open_memstream(&names, &size);
	int code;

	for (uint32_t i = 0; out && i < result->count; i++)
		fprintf(out, "%s%s", i ? ", " : "", table_diff_label(&result->tables[i], label));
	if (out)
		fclose(out);
	code = command_error("diff: there is no table '%s'; the tables are: %s", name, names ? names : "");
	free(names);
	return code;
}

static int print(const struct table_set_diff *result, const struct command_args *args)
{
	json_t *checks = check_diff(args->operands[0], args->operands[1]), *line, *json;
	size_t i;

	if (args->options[JSON]) {
		json = diff_describe(result);
		json_object_set_new(json, "checks", checks);
		return cli_print_json(json);
	}
	diff_print(result);
	json_array_foreach(checks, i, line) cli_print(2, "%s", json_string_value(line));
	json_decref(checks);
	return COMMAND_OK;
}

static int diff(const struct table_set *before, const struct table_set *after, const struct command_args *args,
	double max_broken)
{
	const char *name = args->options[TABLE];
	struct table_set_diff result;
	int code;

	if (!table_set_diff_create(&result, before, after))
		return command_error("out of memory");
	if (name && !table_set_diff_select(&result, name))
		code = unknown_table(&result, name);
	else
		code = print(&result, args);
	if (code == COMMAND_OK && table_diff_percent(result.broken, result.rows) > max_broken)
		code = CLI_BROKEN;
	table_set_diff_free(&result);
	return code;
}

static int run(const struct command_args *args)
{
	const char *limit = args->options[MAX_BROKEN];
	struct table_set before = {0}, after = {0};
	double max_broken = 0.0;
	int code = COMMAND_FAILED;

	if (limit && !text_percent(limit, &max_broken))
		return command_usage(
			"diff: --max-broken: '%s' is not a percentage from 0 to 100, such as 5 or 0.25", limit);
	if (cli_load_table(args->operands[0], &before, NULL) && cli_load_table(args->operands[1], &after, NULL))
		code = diff(&before, &after, args, max_broken);
	table_set_free(&before);
	table_set_free(&after);
	return code;
}

const struct command diff_command = {
	.name = "diff",
	.run = run,
	.operands = "OLD NEW",
	.min_operands = 2,
	.max_operands = 2,
	.summary = "Count the rows whose connections a new table would move or break",
	.options = options,
};
