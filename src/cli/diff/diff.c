/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/diff/diff_print.h"
#include "cli/diff/sequence.h"
#include "common/text.h"
#include "table/file/json/json_text.h"
#include "table/file/table_document.h"

enum { MAX_BROKEN, MAX_SKEW, TABLE, JSON };

static const struct command_option options[] = {
	[MAX_BROKEN] = {"max-broken", "PCT", "exit with 3 only if more than PCT % of all rows break"},
	[MAX_SKEW] = {"max-skew", "PCT",
		"exit with 3 also if a director that is one table behind loses new connections of more than PCT % of all rows"},
	[TABLE] = {"table", "NAME|#INDEX", "print and count only this table"},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

/* The comparison of all tables. */
struct run {
	const struct command_args *args;
	struct sequence sequence;
	struct table_set sets[2]; /* step i goes from sets[i % 2] to the other one */
	json_t *steps; /* NULL: two tables, or output for people */
	bool found; /* --table: some step has this table */
	uint64_t broken, causes[TABLE_DIFF_CAUSES]; /* sums over the steps */
	uint32_t rows, skew; /* the most of a step */
	double skew_percent;
};

static bool is_sequence(const struct run *run)
{
	return run->args->count > 2;
}

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

static void compare_table_checks(
	json_t *lines, const struct table_document *before, uint32_t b, const struct table_document *after, uint32_t a)
{
	const struct table *old = &before->set.tables[b], *new = &after->set.tables[a];
	uint32_t *order = table_backend_order(old);

	for (uint32_t i = 0; i < new->backend_count; i++) {
		uint32_t j = table_find_backend(old, order, &new->backends[i].addr);
		char addr[NETADDR_TEXT_MAX], label[16], *change, *line;
		struct http_settings first = {0}, second = {0};

		if (j == old->backend_count)
			continue;
		/* All settings that the files have for the checks. */
		table_health_http(&before->health, b, j, &first);
		table_health_http(&after->health, a, i, &second);
		change = diff_checks(
			&before->health.tables[b].backends[j], &first, &after->health.tables[a].backends[i], &second);
		if (change && asprintf(&line, "%s: backend %s: checks: %s", table_label(&after->set, a, label),
				      netaddr_format(&new->backends[i].addr, addr), change) >= 0) {
			json_array_append_new(lines, json_text(line));
			free(line);
		}
		free(change);
	}
	free(order);
}

/*
 * Returns a line for each backend of a table in both JSON files whose checks differ: "web: backend 192.168.50.10:
 * checks: gue 19523 -> none". Values of headers are not in it. An empty array if one of the files is binary. The
 * caller owns it.
 */
static json_t *describe_checks(const char *before, const char *after)
{
	struct table_document old, new;
	json_t *lines = json_array();
	char label[16], other[16];

	cli_read_document(before, &old);
	cli_read_document(after, &new);
	for (uint32_t a = 0; a < new.set.count; a++)
		for (uint32_t b = 0; b < old.set.count; b++)
			if (strcmp(table_label(&new.set, a, label), table_label(&old.set, b, other)) == 0)
				compare_table_checks(lines, &old, b, &new, a);
	table_document_free(&old);
	table_document_free(&new);
	return lines;
}

static int print_step(struct run *run, const struct table_set_diff *result, int step)
{
	const char *before = run->args->operands[step], *after = run->args->operands[step + 1];
	json_t *checks = describe_checks(before, after), *line, *json;
	size_t i;

	if (run->args->options[JSON]) {
		json = diff_describe(result);
		json_object_set_new(json, "checks", checks);
		if (!is_sequence(run))
			return cli_print_json(json);
		json_object_update_new(json, json_pack("{s:s, s:s}", "old", before, "new", after));
		json_array_append_new(run->steps, json);
		return COMMAND_OK;
	}
	if (is_sequence(run))
		printf("%sOLD: %s, NEW: %s\n", step ? "\n" : "", before, after);
	diff_print(result, DIFF_CAUSES | (is_sequence(run) ? 0 : DIFF_BACKENDS));
	json_array_foreach(checks, i, line) command_print(2, "%s", json_string_value(line));
	json_decref(checks);
	return COMMAND_OK;
}

static void add_totals(struct run *run, const struct table_set_diff *result)
{
	double skew = table_diff_percent(result->skew, result->rows);

	run->rows = result->rows > run->rows ? result->rows : run->rows;
	run->broken += result->broken;
	for (unsigned cause = 0; cause < TABLE_DIFF_CAUSES; cause++)
		run->causes[cause] += result->causes[cause];
	if (skew > run->skew_percent) {
		run->skew_percent = skew;
		run->skew = result->skew;
	}
}

/* Compares tables `step` and `step + 1` of the command line. */
static int compare_step(struct run *run, int step)
{
	struct table_set *before = &run->sets[step % 2], *after = &run->sets[(step + 1) % 2];
	const char *name = run->args->options[TABLE];
	struct table_set_diff result;
	int code = COMMAND_OK;

	if (!cli_load_table(run->args->operands[step + 1], after, NULL))
		return COMMAND_FAILED;
	sequence_step(&run->sequence, after, &result);
	if (!name || table_set_diff_select(&result, name)) {
		run->found = true;
		code = print_step(run, &result, step);
		add_totals(run, &result);
	} else if (!run->found && step + 2 == run->args->count) {
		code = unknown_table(&result, name);
	}
	table_set_diff_free(&result);
	table_set_free(before);
	return code;
}

/* Returns a sum over the steps, at most all rows, because the same row can break in several steps. */
static uint32_t limit(const struct run *run, uint64_t sum)
{
	return sum < run->rows ? (uint32_t)sum : run->rows;
}

static int print_totals(struct run *run)
{
	uint32_t broken = limit(run, run->broken), causes[TABLE_DIFF_CAUSES];
	char broken_text[16], skew_text[16];

	for (unsigned cause = 0; cause < TABLE_DIFF_CAUSES; cause++)
		causes[cause] = limit(run, run->causes[cause]);
	if (!is_sequence(run))
		return COMMAND_OK;
	if (run->args->options[JSON])
		return cli_print_json(json_pack("{s:i, s:i, s:f, s:o, s:i, s:f, s:O}", "rows", (int)run->rows,
			"broken_rows", (int)broken, "broken_percent", table_diff_percent(broken, run->rows),
			"broken_by", diff_describe_causes(causes), "skew_rows", (int)run->skew, "skew_percent",
			run->skew_percent, "steps", run->steps));
	putchar('\n');
	command_print(2, "%d steps: %" PRIu32 " of %" PRIu32 " rows break (%s) if nobody waits between the steps",
		run->args->count - 1, broken, run->rows, diff_percent_text(broken, run->rows, broken_text));
	command_print(2, "a director that is one table behind loses new connections of up to %" PRIu32 " rows (%s)",
		run->skew, diff_percent_text(run->skew, run->rows, skew_text));
	return COMMAND_OK;
}

static int compare_all(struct run *run, double max_broken, double max_skew)
{
	int code = COMMAND_OK;

	if (!cli_load_table(run->args->operands[0], &run->sets[0], NULL))
		return COMMAND_FAILED;
	sequence_begin(&run->sequence, &run->sets[0]);
	for (int step = 0; step + 1 < run->args->count && code == COMMAND_OK; step++)
		code = compare_step(run, step);
	if (code == COMMAND_OK)
		code = print_totals(run);
	if (code == COMMAND_OK &&
		(table_diff_percent(limit(run, run->broken), run->rows) > max_broken || run->skew_percent > max_skew))
		code = CLI_BROKEN;
	return code;
}

static bool get_percent(const struct command_args *args, unsigned option, double *percent)
{
	const char *text = args->options[option];

	if (!text || text_percent(text, percent))
		return true;
	command_usage(
		"diff: --%s: '%s' is not a percentage from 0 to 100, such as 5 or 0.25", options[option].name, text);
	return false;
}

static int diff_run(const struct command_args *args)
{
	struct run run = {.args = args, .steps = json_array()};
	double max_broken = 0.0, max_skew = 100.0;
	int code = COMMAND_USAGE;

	if (get_percent(args, MAX_BROKEN, &max_broken) && get_percent(args, MAX_SKEW, &max_skew))
		code = compare_all(&run, max_broken, max_skew);
	sequence_free(&run.sequence);
	table_set_free(&run.sets[0]);
	table_set_free(&run.sets[1]);
	json_decref(run.steps);
	return code;
}

const struct command diff_command = {
	.name = "diff",
	.run = diff_run,
	.operands = "TABLE TABLE...",
	.summary = "Count the rows whose connections a new table would move or break",
	.options = options,
	.note = "Each TABLE replaces the one before it, the oldest first.",
};
