/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>

#include "cli/live/live.h"
#include "table/file/json/json_text.h"

enum { JSON = LIVE_OPTIONS };

static const struct command_option options[] = {
	LIVE_OPTION_LIST,
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

/* Describes a table of a file with the keys of /glb/tables, so that both are printed by the same code. */
static json_t *describe(const struct table_set *set, uint32_t index)
{
	const struct table *table = &set->tables[index];
	char label[16], bind[TABLE_BIND_TEXT_MAX];
	json_t *json;

	json = json_pack("{s:i, s:s, s:i, s:i, s:i, s:i}", "index", (int)index, "name", table_label(set, index, label),
		"hops", table->row_hops, "bind_count", (int)table->bind_count, "backend_count",
		(int)table->backend_count, "good_backends", (int)table_good_backends(table));
	if (!table->name && table->bind_count)
		json_object_set_new(json, "first_bind", json_string(table_bind_text(&table->binds[0], bind)));
	return json;
}

static json_t *read_file(const char *path)
{
	struct table_set set;
	uint32_t version;
	json_t *tables, *json;
	char digest[17];

	if (!cli_load_table(path, &set, &version))
		return NULL;
	tables = json_array();
	for (uint32_t i = 0; i < set.count; i++)
		json_array_append_new(tables, describe(&set, i));
	snprintf(digest, sizeof(digest), "%016" PRIx64, table_set_digest(&set));
	json = json_pack("{s:o, s:i, s:s, s:o}", "file", json_text(path), "version", (int)version, "digest", digest,
		"tables", tables);
	table_set_free(&set);
	return json;
}

static json_t *read_director(const struct command_args *args, int *code)
{
	struct telemetry telemetry;
	json_t *snapshot;

	*code = telemetry_open(&telemetry, args);
	if (*code != COMMAND_OK)
		return NULL;
	snapshot = snapshot_read(&telemetry, SNAPSHOT_LIST, NULL);
	telemetry_close(&telemetry);
	return snapshot;
}

/* The name is last, because it may be long. The first bind tells which table it is if there is no name. */
static void print_row(const json_t *table, bool live)
{
	const char *name = member_text(table, "name"), *bind = member_text(table, "first_bind");
	int width = printf("%5" JSON_INTEGER_FORMAT " %4" JSON_INTEGER_FORMAT " %5" JSON_INTEGER_FORMAT
			   " %8" JSON_INTEGER_FORMAT " %5" JSON_INTEGER_FORMAT,
		member_number(table, "index"), member_number(table, "hops"), member_number(table, "bind_count"),
		member_number(table, "backend_count"), member_number(table, "good_backends"));

	if (live)
		width += printf(" %16" JSON_INTEGER_FORMAT, member_number(table, "packets"));
	if ((size_t)width + 3 + strlen(name) + strlen(bind) > COMMAND_COLUMNS)
		printf("\n    "); /* a line of its own */
	printf("  %s%s%s\n", name, bind[0] ? " " : "", bind);
}

static void print(const json_t *json, bool live)
{
	const json_t *tables = json_object_get(json, "tables"), *table;
	size_t i;

	if (json_array_size(tables) == 0) {
		puts("There are no tables.");
		return;
	}
	printf("index hops binds backends  good%s  table\n", live ? "          packets" : "");
	json_array_foreach(tables, i, table) print_row(table, live);
}

static int tables_run(const struct command_args *args)
{
	bool live = args->options[LIVE];
	int code = live_check(args, "tables", 0);
	json_t *json;

	if (code != COMMAND_OK)
		return code;
	json = live ? read_director(args, &code) : read_file(args->operands[0]);
	if (!json)
		return code == COMMAND_OK ? COMMAND_FAILED : code;
	if (args->options[JSON])
		return cli_print_json(json);
	print(json, live);
	json_decref(json);
	return COMMAND_OK;
}

const struct command tables_command = {
	.name = "tables",
	.run = tables_run,
	.operands = "[TABLE]",
	.summary = "List the tables of a file or of a running director",
	.options = options,
};
