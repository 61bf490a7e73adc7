/* SPDX-License-Identifier: BSD-3-Clause */
/* What would make a plan safe, or shorter. Each answer is tried: it is said if that plan breaks nothing. */
#include <stdlib.h>
#include <string.h>

#include "cli/plan/plan.h"
#include "common/cpus.h"
#include "table/file/json/table_json.h"
#include "table/rows/table_build.h"

#define MORE_HOPS 2 /* at most so many more are tried */

/* Sets `hops` of the tables that steps can help. Returns the greatest. 0: a table has no room for more. */
static uint32_t add_hops(const struct plan_input *input, struct json_edit *wanted, uint32_t more)
{
	uint32_t greatest = 0;

	for (uint32_t t = 0; t < input->at_once.count; t++) {
		const struct table_diff *pair = &input->at_once.tables[t];
		char path[32], value[16];
		uint32_t hops;

		if (!plan_can_help(pair))
			continue;
		hops = (pair->before->hops > pair->after->hops ? pair->before->hops : pair->after->hops) + more;
		snprintf(path, sizeof(path), "tables[%u]", pair->new_index);
		snprintf(value, sizeof(value), "%u", hops);
		if (hops > TABLE_MAX_HOPS || !json_edit_set(wanted, path, "hops", value))
			return 0;
		greatest = hops > greatest ? hops : greatest;
	}
	return greatest;
}

static bool set_up(struct json_edit *text, const struct table_set *set)
{
	bool done = true;

	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t i = 0; i < set->tables[t].backend_count && done; i++) {
			char path[64];

			snprintf(path, sizeof(path), "tables[%u].backends[%u]", t, i);
			if (!set->tables[t].backends[i].healthy)
				done = json_edit_set(text, path, "healthy", "true");
		}
	return done;
}

static struct json_edit copy_text(const char *text, size_t size)
{
	return (struct json_edit){.text = strdup(text), .size = size};
}

/* Returns the number of steps of the plan from `current` to the text. 0: none of them is safe. */
static uint32_t count_steps(
	const struct plan_input *input, const struct table_set *current, const struct json_edit *wanted)
{
	struct plan_input other = {.current_path = input->current_path,
		.wanted_path = input->wanted_path,
		.current = *current,
		.current_text = input->current_text};
	struct plan_tables tables = {0};
	struct faults faults = {.file = input->wanted_path};
	struct plan plan = {0};
	uint32_t steps = 0;

	if (table_json_parse_document(wanted->text, wanted->size, &other.wanted, &faults) == 0 &&
		table_build(&other.wanted.set, cpus_usable()) == 0) {
		table_set_diff_create(&other.at_once, &other.current, &other.wanted.set);
		if (plan_search(&other, &tables, &plan) && plan.broken == 0 && plan.skew == 0)
			steps = plan.count;
		table_set_diff_free(&other.at_once);
	}
	faults_clear(&faults);
	plan_tables_free(&tables);
	table_document_free(&other.wanted);
	return steps;
}

static void try_hops(const struct plan_input *input, const struct plan *plan, json_t *helps)
{
	bool safe = plan->broken == 0 && plan->skew == 0;

	for (uint32_t more = 1; more <= MORE_HOPS; more++) {
		struct json_edit wanted = copy_text(input->wanted.text, input->wanted.size);
		uint32_t hops = wanted.text ? add_hops(input, &wanted, more) : 0;
		uint32_t steps = hops ? count_steps(input, &input->current, &wanted) : 0;

		free(wanted.text);
		if (!steps || (safe && steps >= plan->count))
			continue;
		json_array_append_new(
			helps, json_sprintf("hops: with `hops` %u in WANTED, a plan of %u step%s breaks nothing", hops,
				       steps, steps == 1 ? "" : "s"));
		return;
	}
}

static void try_waiting(const struct plan_input *input, json_t *helps)
{
	const struct json_edit *text = &input->current_text;
	struct json_edit wanted = copy_text(input->wanted.text, input->wanted.size), up = {0};
	struct faults faults = {.file = input->current_path};
	struct table_set current = {0};

	if (text->text)
		up = copy_text(text->text, text->size);
	if (up.text && wanted.text && set_up(&up, &input->current) && set_up(&wanted, &input->wanted.set) &&
		table_json_parse(up.text, up.size, &current, &faults) == 0 &&
		table_build(&current, cpus_usable()) == 0 && count_steps(input, &current, &wanted))
		json_array_append_new(helps,
			json_string("waiting: when all proxies of CURRENT and WANTED are up, a plan breaks nothing"));
	faults_clear(&faults);
	table_set_free(&current);
	free(wanted.text);
	free(up.text);
}

json_t *plan_helps(const struct plan_input *input, const struct plan *plan)
{
	bool safe = plan->broken == 0 && plan->skew == 0, can_help = false, moves = false;
	json_t *helps = json_array();

	for (uint32_t t = 0; t < input->at_once.count; t++) {
		can_help |= plan_can_help(&input->at_once.tables[t]);
		moves |= plan_changes_family(&input->at_once.tables[t]);
	}
	if (moves)
		json_array_append_new(helps,
			json_string(
				"a second table: a table has proxies of one family, so give those of the other family a table with other VIPs, and move the clients there"));
	if (!can_help || (safe && plan->count <= PLAN_FEW_STEPS))
		return helps;
	try_hops(input, plan, helps);
	if (!safe && plan_any_down(input))
		try_waiting(input, helps);
	return helps;
}
