/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "cli/cli.h"
#include "cli/simulate/run.h"
#include "cli/simulate/world.h"
#include "common/byteorder.h"
#include "common/file/file.h"
#include "common/text.h"
#include "table/file/table_load.h"

enum { PROXIES, SEED, TABLE, HOPS, BALANCE, HISTORY, MAX_BROKEN, JSON };

static const struct command_option options[] = {
	[PROXIES] = {"proxies", "N", "without TABLE.json: start with N active proxies", NULL, 1, TABLE_MAX_BACKENDS},
	[SEED] = {"seed", "N", "with --proxies: another order of the proxies in the rows", "1", 0, UINT32_MAX},
	[TABLE] = {"table", "NAME|#INDEX", "the table of TABLE.json; needed if it has several"},
	[HOPS] = {"hops", "N", "start with N hops in a row, instead of those of the table", NULL, TABLE_MIN_HOPS,
		TABLE_MAX_HOPS},
	[BALANCE] = {"balance", "LIMIT|off", "start with this limit of the imbalance, such as 1.02"},
	[HISTORY] = {"history", "on|off", "whether the table remembers its previous states", "on"},
	[MAX_BROKEN] = {"max-broken", "PCT", "exit with 3 if more than PCT % of the connections break"},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

/* The options, parsed. */
struct wish {
	uint32_t proxies, seed, hops, balance; /* proxies and hops: 0 if not given */
	bool has_balance, history;
	double max_broken; /* percent */
};

static int parse_table_options(const struct command_args *args, struct wish *wish)
{
	const char *const *given = args->options;

	if (args->count == 2 && (given[PROXIES] || given[SEED]))
		return command_usage("simulate: --proxies and --seed are for a simulation without TABLE.json");
	if (args->count == 1 && !given[PROXIES])
		return command_usage("simulate: with which table does it start? Give TABLE.json, or --proxies N");
	if (args->count == 1 && given[TABLE])
		return command_usage("simulate: --table is for TABLE.json");
	wish->proxies = args->numbers[PROXIES];
	wish->seed = args->numbers[SEED];
	wish->hops = args->numbers[HOPS];
	return COMMAND_OK;
}

static int parse_options(const struct command_args *args, struct wish *wish)
{
	const char *const *given = args->options;

	wish->has_balance = given[BALANCE];
	if (given[BALANCE] && !table_parse_balance(given[BALANCE], &wish->balance))
		return command_usage(
			"simulate: --balance: '%s' is neither off nor a number from 1.005 to 2 with at most 3 decimals",
			given[BALANCE]);
	wish->history = strcmp(args->values[HISTORY], "on") == 0;
	if (given[MAX_BROKEN] && !text_percent(given[MAX_BROKEN], &wish->max_broken))
		return command_usage("simulate: --max-broken: '%s' is not a percentage from 0 to 100, such as 5 or 0.25",
			given[MAX_BROKEN]);
	return parse_table_options(args, wish);
}

/* Makes a table of N proxies, with the addresses that a world gives to their numbers. */
static void make_table(const struct wish *wish, struct table_set *set)
{
	const struct world nobody = {0};
	struct table *table = alloc_zeroed(1, sizeof(*table));

	*set = (struct table_set){.count = 1, .tables = table};
	table->hops = TABLE_DEFAULT_HOPS;
	store_be32(table->seed + sizeof(table->seed) - 4, wish->seed);
	table->backends = alloc_zeroed(wish->proxies, sizeof(*table->backends));
	for (; table->backend_count < wish->proxies; table->backend_count++) {
		struct table_backend *backend = &table->backends[table->backend_count];

		*backend = (struct table_backend){.state = TABLE_ACTIVE, .healthy = true, .weight = TABLE_DEFAULT_WEIGHT};
		world_addr(&nobody, table->backend_count + 1, &backend->addr);
	}
}

/* Reads TABLE.json, without its rows, and finds its table. */
static bool load_table(const char *path, const char *name, struct table_set *set, uint32_t *index)
{
	struct faults faults = {.file = path};
	char *names;

	if (table_load_version(path)) {
		command_error("%s: is a binary table, which does not have the seed: give the JSON table", path);
		return false;
	}
	if (table_load_json(path, set, &faults)) {
		cli_print_faults(&faults, FAULTS_ERRORS);
		return false;
	}
	faults_clear(&faults);
	if (name)
		return cli_find_table(set, path, name, index);
	if (set->count == 1)
		return true;
	names = cli_table_names(set);
	if (set->count == 0)
		command_error("%s: has no table", path);
	else
		command_error("%s: has %u tables (%s): say which one with --table", path, set->count, names ? names : "");
	free(names);
	return false;
}

/* Sets *table to the table of the start, which `set` owns. */
static bool find_table(
	const struct command_args *args, const struct wish *wish, struct table_set *set, struct table **table)
{
	uint32_t index = 0;

	if (wish->proxies)
		make_table(wish, set);
	else if (!load_table(args->operands[1], args->options[TABLE], set, &index))
		return false;
	*table = &set->tables[index];
	if (wish->hops)
		(*table)->hops = (uint8_t)wish->hops;
	if (wish->has_balance)
		(*table)->balance = (uint16_t)wish->balance;
	return true;
}

static int simulate(const char *path, const struct table *table, const struct wish *wish, bool json)
{
	struct report report = {.script = path};
	struct faults faults = {.file = path};
	struct script script = {0};
	char *text = NULL;
	size_t size;
	int code;

	if (file_read(path, "a script", SCRIPT_MAX_SIZE, &text, &size, &faults) == 0 && strlen(text) < size)
		faults_error(&faults, NULL, "is no text: it has a byte 0");
	if (faults.errors == 0 && script_parse(&script, text, &faults) &&
		run_script(&script, table, wish->history, &report, &faults)) {
		code = json ? report_print_json(&report) : report_print(&report);
		if (code == COMMAND_OK && report_broken_percent(&report) > wish->max_broken)
			code = CLI_BROKEN;
	} else
		code = cli_print_faults(&faults, FAULTS_ERRORS);
	report_free(&report);
	script_free(&script);
	free(text);
	return code;
}

static int simulate_run(const struct command_args *args)
{
	struct wish wish = {.max_broken = 100};
	struct table_set set = {0};
	struct table *table;
	int code = parse_options(args, &wish);

	if (code != COMMAND_OK)
		return code;
	code = COMMAND_FAILED;
	if (find_table(args, &wish, &set, &table))
		code = simulate(args->operands[0], table, &wish, args->options[JSON]);
	table_set_free(&set);
	return code;
}

const struct command simulate_command = {
	.name = "simulate",
	.run = simulate_run,
	.operands = "SCRIPT.sim [TABLE.json]",
	.summary = "Follow the connections through a script of changes, failures and waits",
	.options = options,
	.note = "Lines of SCRIPT, # begins a comment:\n"
		"  lengths forever | exponential MEAN | pareto SHAPE MEAN |\n"
		"          quantiles PERCENT LENGTH...\n"
		"  rate N                      new connections a second\n"
		"  directors N                 number of directors\n"
		"  behind DIRECTORS TIME       these use each new table later\n"
		"  add PROXIES [draining] [weight N]\n"
		"  remove|drain|undrain PROXIES\n"
		"  weight PROXIES N\n"
		"  fail|unhealthy|recover PROXIES\n"
		"  hops N, balance LIMIT|off, history on|off\n"
		"  wait TIME, wait drained PROXIES\n"
		"PROXIES and DIRECTORS are numbers such as 1-4,7, or all; PROXIES can\n"
		"be addresses. A TIME is 500ms, 30s, 10m, 2h or 7d.",
};
