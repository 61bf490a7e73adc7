/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/table_diff.h"

enum { MAX_BROKEN, JSON };

static const struct command_option options[] = {
	[MAX_BROKEN] = {"max-broken", "PCT", "exit with 3 only if more than PCT % of all rows break"},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

struct totals {
	uint32_t rows, changed, broken; /* of the old tables */
};

static double percent(uint32_t part, uint32_t whole)
{
	return whole ? 100.0 * part / whole : 0.0;
}

static json_t *describe_side(const struct table_backend *backend, uint32_t first)
{
	if (!backend)
		return json_null();
	return json_pack("{s:s, s:b, s:i}", "state", table_state_name(backend->state), "healthy", backend->healthy,
		"first_hop_rows", (int)first);
}

static json_t *describe_backends(const struct table_diff *diff)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < diff->backend_count; i++) {
		const struct table_diff_backend *backend = &diff->backends[i];
		char text[NETADDR_TEXT_MAX];

		json_array_append_new(
			array, json_pack("{s:s, s:o, s:o, s:i, s:i}", "ip", netaddr_format(&backend->addr, text), "old",
				       describe_side(backend->before, backend->first_before), "new",
				       describe_side(backend->after, backend->first_after), "gained",
				       (int)backend->gained, "lost", (int)backend->lost));
	}
	return array;
}

static const char *change(const struct table_diff *diff)
{
	return !diff->before ? "added" : !diff->after ? "removed" : "kept";
}

static json_t *describe(const struct table_diff *diff)
{
	const struct table *table = diff->after ? diff->after : diff->before;

	return json_pack("{s:s?, s:i, s:s, s:b, s:b, s:i, s:f, s:i, s:f, s:o}", "name", table->name, "index",
		(int)diff->index, "table", change(diff), "hash_key_changed", diff->key_changed, "binds_changed",
		diff->binds_changed, "changed_rows", (int)diff->changed, "changed_percent",
		percent(diff->changed, TABLE_ROWS), "broken_rows", (int)diff->broken, "broken_percent",
		percent(diff->broken, TABLE_ROWS), "backends", describe_backends(diff));
}

static const char *side_text(const struct table_backend *backend, char buf[32])
{
	if (!backend)
		return "-";
	snprintf(buf, 32, "%s%s", table_state_name(backend->state), backend->healthy ? "" : " down");
	return buf;
}

static void print_backends(const struct table_diff *diff)
{
	puts("  backend          old            new             first hops      gained   lost");
	for (uint32_t i = 0; i < diff->backend_count; i++) {
		const struct table_diff_backend *backend = &diff->backends[i];
		char text[NETADDR_TEXT_MAX], before[32], after[32];

		printf("  %-15s  %-13s  %-13s  %5" PRIu32 " -> %5" PRIu32 "  %6" PRIu32 " %6" PRIu32 "\n",
			netaddr_format(&backend->addr, text), side_text(backend->before, before),
			side_text(backend->after, after), backend->first_before, backend->first_after, backend->gained,
			backend->lost);
	}
}

static void print(const struct table_diff *diff)
{
	const struct table *table = diff->after ? diff->after : diff->before;
	bool kept = diff->before && diff->after;
	char label[16];

	snprintf(label, sizeof(label), "#%" PRIu32, diff->index);
	printf("table %s", table->name ? table->name : label);
	if (kept)
		printf(": %" PRIu32 " rows change (%.2f%%), %" PRIu32 " break (%.2f%%)\n", diff->changed,
			percent(diff->changed, TABLE_ROWS), diff->broken, percent(diff->broken, TABLE_ROWS));
	else
		printf(": %s\n", diff->after ? "added" : "removed: all its rows break");
	if (diff->key_changed)
		puts("  hash_key changed: flows move to other rows, so every row counts as broken");
	if (diff->binds_changed)
		puts("  binds changed: these counts exclude flows that only one of the tables matches");
	if (!kept || diff->changed || diff->broken)
		print_backends(diff);
	putchar('\n');
}

/* Compares and prints all pairs, and adds up the totals. Returns the exit code, which ignores broken rows. */
static int compare_and_print(struct table_diff *pairs, uint32_t count, bool json, struct totals *totals)
{
	json_t *tables = json_array();

	for (uint32_t i = 0; i < count; i++) {
		if (!table_diff_compare(&pairs[i])) {
			json_decref(tables);
			return command_error("out of memory");
		}
		totals->rows += pairs[i].before ? TABLE_ROWS : 0;
		totals->changed += pairs[i].changed;
		totals->broken += pairs[i].broken;
		if (json)
			json_array_append_new(tables, describe(&pairs[i]));
		else
			print(&pairs[i]);
	}
	if (json)
		return cli_print_json(json_pack("{s:i, s:i, s:f, s:i, s:f, s:o}", "rows", (int)totals->rows,
			"changed_rows", (int)totals->changed, "changed_percent", percent(totals->changed, totals->rows),
			"broken_rows", (int)totals->broken, "broken_percent", percent(totals->broken, totals->rows),
			"tables", tables));
	json_decref(tables);
	printf("all: %" PRIu32 " of %" PRIu32 " rows change (%.2f%%), %" PRIu32 " break (%.2f%%)\n", totals->changed,
		totals->rows, percent(totals->changed, totals->rows), totals->broken,
		percent(totals->broken, totals->rows));
	return COMMAND_OK;
}

static bool parse_percent(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && *end == '\0' && *value >= 0.0 && *value <= 100.0;
}

static int diff(const struct table_set *before, const struct table_set *after, bool json, double max_broken)
{
	struct table_diff *pairs = calloc(before->count + after->count + 1, sizeof(*pairs));
	struct totals totals = {0};
	uint32_t count;
	int code;

	if (!pairs)
		return command_error("out of memory");
	count = table_diff_pair(before, after, pairs);
	code = compare_and_print(pairs, count, json, &totals);
	for (uint32_t i = 0; i < count; i++)
		table_diff_free(&pairs[i]);
	free(pairs);
	if (code == COMMAND_OK && totals.broken && percent(totals.broken, totals.rows) > max_broken)
		code = CLI_BROKEN;
	return code;
}

static int run(const struct command_args *args)
{
	const char *limit = args->options[MAX_BROKEN];
	struct table_set before = {0}, after = {0};
	double max_broken = 0.0;
	int code = COMMAND_FAILED;

	if (limit && !parse_percent(limit, &max_broken))
		return command_usage("diff: --max-broken: '%s' is not a percentage from 0 to 100", limit);
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
