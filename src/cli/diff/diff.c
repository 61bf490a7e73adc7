/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/cli.h"
#include "cli/diff/diff_print.h"
#include "common/text.h"

enum { MAX_BROKEN, JSON };

static const struct command_option options[] = {
	[MAX_BROKEN] = {"max-broken", "PCT", "exit with 3 only if more than PCT % of all rows break"},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

static int diff(const struct table_set *before, const struct table_set *after, bool json, double max_broken)
{
	struct table_set_diff result;
	int code = COMMAND_OK;

	if (!table_set_diff_create(&result, before, after))
		return command_error("out of memory");
	if (json)
		code = cli_print_json(diff_describe(&result));
	else
		diff_print(&result);
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
		code = diff(&before, &after, args->options[JSON], max_broken);
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
