/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/plan/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "cli/cli.h"
#include "cli/diff/diff_print.h"
#include "common/cpus.h"
#include "common/text.h"
#include "table/file/json/table_json.h"
#include "table/file/table_load.h"
#include "table/rows/table_build.h"
#include "table/table_guard.h"

enum { WRITE, MAX_BROKEN, JSON };

static const struct command_option options[] = {
	[WRITE] = {"write", "DIR", "write the tables 1.json, 2.json ... into this new or empty folder"},
	[MAX_BROKEN] = {"max-broken", "PCT", "accept a plan that breaks up to PCT % of all rows (default: 0)"},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

/* Binary tables may lack the weights: then those of WANTED count. Returns true if there were any. */
static bool guess_weights(const struct plan_input *input)
{
	bool guessed = false;

	for (uint32_t t = 0; t < input->at_once.count; t++) {
		const struct table_diff *pair = &input->at_once.tables[t];

		for (uint32_t i = 0; i < pair->backend_count; i++) {
			struct table_backend *before = (struct table_backend *)pair->backends[i].before;

			if (!before || before->weight || !pair->backends[i].after)
				continue;
			before->weight = pair->backends[i].after->weight;
			guessed = true;
		}
	}
	return guessed;
}

static bool read_current(struct plan_input *input)
{
	struct faults faults = {.file = input->current_path};
	uint32_t version;
	bool read = cli_load_table(input->current_path, &input->current, &version);

	if (!read || version)
		return read;
	read = table_load_text(input->current_path, &input->current_text.text, &input->current_text.size, &faults) == 0;
	cli_print_faults(&faults, FAULTS_ERRORS);
	return read;
}

bool plan_parse_wanted(struct plan_input *input, const char *text, size_t size)
{
	struct faults faults = {.file = input->wanted_path};
	bool read = table_json_parse_tolerant(text, size, &input->wanted, &faults) == 0;

	input->thorough = faults.thorough;
	cli_print_faults(&faults, FAULTS_ERRORS);
	if (read && table_build(&input->wanted.set, cpus_usable())) {
		command_error("%s: its rows cannot be built: out of memory", input->wanted_path);
		return false;
	}
	return read;
}

static bool read_wanted(struct plan_input *input)
{
	struct faults faults = {.file = input->wanted_path};
	char *text = NULL;
	size_t size;
	bool read;

	if (table_load_version(input->wanted_path)) {
		command_error(
			"%s: is a binary table: WANTED must be a JSON table, because the tables of the plan are made from its text",
			input->wanted_path);
		return false;
	}
	read = table_load_text(input->wanted_path, &text, &size, &faults) == 0;
	cli_print_faults(&faults, FAULTS_ERRORS);
	read = read && plan_parse_wanted(input, text, size);
	free(text);
	return read;
}

void plan_compare(struct plan_input *input)
{
	table_set_diff_create(&input->at_once, &input->current, &input->wanted.set);
	if (!guess_weights(input))
		return;
	table_set_diff_free(&input->at_once);
	table_set_diff_create(&input->at_once, &input->current, &input->wanted.set);
}

/* The tables between CURRENT and WANTED list the backends of both. */
static bool fits(const struct plan_input *input)
{
	char label[16];

	for (uint32_t i = 0; i < input->at_once.count; i++) {
		const struct table_diff *pair = &input->at_once.tables[i];

		if (!plan_can_help(pair) || pair->backend_count <= TABLE_MAX_BACKENDS)
			continue;
		command_error(
			"%s: table %s: there is no plan, because its tables would list the backends of %s and of %s, together %u, and a table has at most %u: replace fewer backends at a time",
			input->wanted_path, table_diff_label(pair, label), input->current_path, input->wanted_path,
			pair->backend_count, TABLE_MAX_BACKENDS);
		return false;
	}
	return true;
}

void plan_input_free(struct plan_input *input)
{
	table_set_diff_free(&input->at_once);
	table_set_free(&input->current);
	table_document_free(&input->wanted);
	free(input->current_text.text);
}

bool plan_is_allowed(const struct plan_input *input, const struct plan *plan, double limit)
{
	uint32_t rows = input->at_once.rows;

	return table_diff_percent(plan->broken, rows) <= limit && table_diff_percent(plan->skew, rows) <= limit;
}

int plan_refuse(const struct plan_input *input, const struct plan *plan, double limit)
{
	uint32_t rows = input->at_once.rows, most = plan->broken > plan->skew ? plan->broken : plan->skew;
	/* In hundredths of a percent, rounded up, so that the suggested value is enough. */
	uint64_t enough = ((uint64_t)most * 10000 + rows - 1) / rows;
	char broken[16], skew[16];

	fflush(stdout);
	command_error(
		"plan: refused: the best plan breaks %s of the rows, and a director that is one table behind loses new connections of %s; %.2f%% are allowed",
		diff_percent_text(plan->broken, rows, broken), diff_percent_text(plan->skew, rows, skew), limit);
	command_error(
		"to keep connections, follow what the plan says below its losses; to accept the losses, add --max-broken %" PRIu64
		".%02" PRIu64,
		enough / 100, enough % 100);
	return CLI_BROKEN;
}

/* Prints the plan, and writes it if it may be used. */
static int finish(const struct plan_input *input, const struct plan *plan, const struct command_args *args, double limit)
{
	const char *dir = args->options[WRITE];
	bool allowed = plan_is_allowed(input, plan, limit);
	int code = COMMAND_OK;

	if (dir && allowed && plan->count)
		code = plan_write(input, plan, dir);
	if (code != COMMAND_OK)
		return code;
	if (!allowed || !plan->count)
		dir = NULL;
	if (args->options[JSON])
		code = cli_print_json(plan_describe(input, plan, dir));
	else if (plan->count == 0)
		printf("nothing to do: both tables have the digest %016" PRIx64 "\n", table_set_digest(&input->current));
	else
		plan_print(input, plan, dir);
	return code == COMMAND_OK && !allowed ? plan_refuse(input, plan, limit) : code;
}

bool plan_find(struct plan_input *input, struct plan_tables *tables, struct plan *plan)
{
	*plan = (struct plan){0};
	plan_compare(input);
	return table_set_digest(&input->current) == table_set_digest(&input->wanted.set) ||
	       (fits(input) && plan_search(input, tables, plan));
}

/* Returns whether a director might refuse to load `new` after `old`. */
static bool loses(const struct table_set *old, struct table_set new)
{
	struct table_guard guard = table_guard_strict(old, &new, 0);
	struct faults faults = {0};
	bool lost;

	new.replaces = 0;
	lost = !table_guard_allows(&guard, &faults);
	faults_clear(&faults);
	return lost;
}

char *plan_step_text(const struct plan_input *input, const struct plan *plan, uint32_t index, const char *text)
{
	const struct table_set *before = index ? &plan->steps[index - 1].set : &input->current;
	struct json_edit edit = {.text = strdup(text), .size = strlen(text)};
	bool is_last = index + 1 == plan->count, made = edit.text;
	bool confirmed = input->wanted.set.replaces == table_set_fingerprint(&input->current);
	char value[TEXT_HEX64 + 2], hex[TEXT_HEX64];

	snprintf(value, sizeof(value), "\"%s\"", text_hex64(table_set_fingerprint(before), hex));
	if (made && confirmed && (is_last ? index > 0 : loses(before, plan->steps[index].set)))
		made = json_edit_set(&edit, "", "replaces", value);
	else if (made && !is_last)
		made = json_edit_drop(&edit, "replaces");
	if (!made)
		alloc_failed();
	return edit.text;
}

static int make(struct plan_input *input, const struct command_args *args, double limit)
{
	struct plan_tables tables = {0};
	struct plan plan;
	int code = COMMAND_FAILED;

	if (!read_current(input) || !read_wanted(input))
		return code;
	if (plan_find(input, &tables, &plan))
		code = finish(input, &plan, args, limit);
	plan_tables_free(&tables);
	return code;
}

static int plan_run(const struct command_args *args)
{
	struct plan_input input = {.current_path = args->operands[0], .wanted_path = args->operands[1]};
	const char *text = args->options[MAX_BROKEN];
	double limit = 0.0;
	int code;

	if (text && !text_percent(text, &limit))
		return command_usage(
			"plan: --max-broken: '%s' is not a percentage from 0 to 100, such as 5 or 0.25", text);
	code = make(&input, args, limit);
	plan_input_free(&input);
	return code;
}

const struct command plan_command = {
	.name = "plan",
	.run = plan_run,
	.operands = "CURRENT WANTED.json",
	.summary = "Compute tables that lead from one table to another without losing connections",
	.options = options,
	.note = "CURRENT is the table that the directors use, WANTED.json the one that they\n"
		"shall use.",
};
