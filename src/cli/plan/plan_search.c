/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/plan/plan.h"
#include "cli/progress.h"
#include "common/cpus.h"
#include "table/file/json/table_json.h"
#include "table/rows/table_build.h"

bool plan_build(const char *path, const struct json_edit *text, bool thorough, struct table_set *set)
{
	struct faults faults = {.file = path, .thorough = thorough};
	bool parsed = table_json_parse(text->text, text->size, set, &faults) == 0;

	cli_print_faults(&faults, FAULTS_ERRORS);
	if (parsed && table_build(set, cpus_usable())) {
		command_error("%s: its rows cannot be built: out of memory", path);
		return false;
	}
	return parsed;
}

/* Makes the table of a step from its text, so that what is checked is what is written. */
static bool make_step(const struct plan_input *input, enum plan_kind kind, bool with_past, struct plan_step *step)
{
	*step = (struct plan_step){.kind = kind};
	plan_text(input, kind, with_past, &step->text);
	if (plan_build("a step of the plan", &step->text, input->thorough, &step->set))
		return true;
	command_error("%s: a table between CURRENT and WANTED would not be valid", input->wanted_path);
	return false;
}

static void step_free(struct plan_step *step)
{
	free(step->text.text);
	table_set_free(&step->set);
}

void plan_tables_free(struct plan_tables *tables)
{
	for (unsigned kind = 0; kind < PLAN_KINDS; kind++) {
		step_free(&tables->steps[kind][0]);
		step_free(&tables->steps[kind][1]);
	}
}

/* Returns true if a proxy that leaves may hold connections in CURRENT, but gets no new ones. */
static bool any_drains(const struct plan_input *input)
{
	for (uint32_t t = 0; t < input->at_once.count; t++) {
		const struct table_diff *pair = &input->at_once.tables[t];

		for (uint32_t i = 0; pair->after && i < pair->backend_count; i++)
			if (pair->backends[i].held && plan_drains(&pair->backends[i]))
				return true;
	}
	return false;
}

bool plan_any_down(const struct plan_input *input)
{
	for (uint32_t t = 0; t < input->at_once.count; t++)
		for (uint32_t i = 0; i < input->at_once.tables[t].backend_count; i++)
			if (plan_is_down(&input->at_once.tables[t].backends[i]))
				return true;
	return false;
}

/* Returns true if the backend of the table gets no new connections, so that it can be waited for. */
static bool is_idle_backend(const struct table *table, const struct netaddr *addr)
{
	uint32_t index = table_find_backend(table, NULL, addr);

	return index == table->backend_count || table->backends[index].state > TABLE_ACTIVE ||
	       !table->backends[index].healthy;
}

/* The connections of the proxies that leave end, in the newest table of the sequence. is_current: that is CURRENT. */
static void wait_drained(const struct plan_input *input, struct sequence *sequence, bool is_current)
{
	for (uint32_t t = 0; t < input->at_once.count; t++) {
		const struct table_diff *pair = &input->at_once.tables[t];
		uint32_t index = is_current ? pair->old_index : pair->new_index;

		for (uint32_t i = 0; pair->before && pair->after && i < pair->backend_count; i++) {
			const struct table_diff_backend *backend = &pair->backends[i];

			if (is_current ? plan_drains(backend)
				       : plan_leaves(backend) &&
						 is_idle_backend(&sequence->set->tables[index], &backend->addr))
				sequence_drained(sequence, index, &backend->addr);
		}
	}
}

static void wait_for(const struct plan_input *input, struct sequence *sequence, enum rollout_wait wait)
{
	if (wait == ROLLOUT_OLDER)
		sequence_older_ended(sequence);
	else if (wait == ROLLOUT_DRAINED)
		wait_drained(input, sequence, sequence->set == &input->current);
}

/* Counts what the steps of the plan break. */
static void check(const struct plan_input *input, struct plan *plan)
{
	struct sequence sequence;
	uint64_t broken = 0;

	sequence_begin(&sequence, &input->current);
	wait_for(input, &sequence, plan->first_wait);
	plan->skew = 0;
	for (uint32_t i = 0; i < plan->count; i++) {
		struct plan_step *step = &plan->steps[i];
		struct table_set_diff diff;

		sequence_step(&sequence, &step->set, &diff);
		step->broken = diff.broken;
		step->skew = diff.skew;
		broken += diff.broken;
		plan->skew = diff.skew > plan->skew ? diff.skew : plan->skew;
		table_set_diff_free(&diff);
		if (i + 1 < plan->count)
			wait_for(input, &sequence, step->wait);
	}
	plan->broken = broken < input->at_once.rows ? (uint32_t)broken : input->at_once.rows;
	sequence_free(&sequence);
}

void plan_choose_waits(const struct plan_input *input, struct plan *plan)
{
	uint32_t count = plan->count;

	for (uint32_t i = 0; i < count; i++) {
		enum rollout_wait *wait = i ? &plan->steps[i - 1].wait : &plan->first_wait, best = ROLLOUT_NO_WAIT;
		uint32_t least = UINT32_MAX;

		plan->count = i + 1;
		for (*wait = ROLLOUT_NO_WAIT; *wait <= ROLLOUT_OLDER && least; ++*wait) {
			check(input, plan);
			if (plan->steps[i].broken >= least)
				continue;
			least = plan->steps[i].broken;
			best = *wait;
		}
		*wait = best;
	}
	check(input, plan);
}

/* A table of a plan to try, and what to wait for after it. */
struct candidate_step {
	enum plan_kind kind;
	enum rollout_wait wait;
};

/* A plan to try. */
struct candidate {
	enum rollout_wait first_wait;
	bool without_past; /* the steps leave out the previous states of CURRENT */
	struct candidate_step steps[PLAN_MAX_STEPS]; /* the last one is WANTED */
};

/* From those that take the operator the least time. */
static const struct candidate candidates[] = {
	{.first_wait = ROLLOUT_NO_WAIT},
	{.steps = {{.kind = PLAN_ANNOUNCE}}},
	{.first_wait = ROLLOUT_DRAINED},
	{.steps = {{PLAN_SWITCH, ROLLOUT_DRAINED}}},
	{.first_wait = ROLLOUT_DRAINED, .steps = {{.kind = PLAN_ANNOUNCE}}},
	{.steps = {{.kind = PLAN_ANNOUNCE}, {.kind = PLAN_SWITCH}}},
	{.steps = {{.kind = PLAN_ANNOUNCE}, {PLAN_SWITCH, ROLLOUT_DRAINED}}},
	{.steps = {{.kind = PLAN_ANNOUNCE}, {PLAN_SWITCH, ROLLOUT_OLDER}}},
	{.first_wait = ROLLOUT_OLDER},
	{ROLLOUT_OLDER, true, {{.kind = PLAN_ANNOUNCE}}},
	{ROLLOUT_OLDER, true, {{.kind = PLAN_ANNOUNCE}, {PLAN_SWITCH, ROLLOUT_DRAINED}}},
	{ROLLOUT_OLDER, true, {{.kind = PLAN_ANNOUNCE}, {PLAN_SWITCH, ROLLOUT_OLDER}}},
	{ROLLOUT_OLDER, true, {{.kind = PLAN_ANNOUNCE_DRAINED}, {PLAN_SWITCH_DRAINED, ROLLOUT_OLDER}}},
	{ROLLOUT_OLDER, true,
		{{.kind = PLAN_ANNOUNCE_DRAINED}, {PLAN_SWITCH_DRAINED, ROLLOUT_OLDER}, {.kind = PLAN_ANNOUNCE_UNDRAIN}}},
	{ROLLOUT_OLDER, true,
		{{.kind = PLAN_ANNOUNCE_DRAINED}, {PLAN_SWITCH_DRAINED, ROLLOUT_OLDER}, {.kind = PLAN_ANNOUNCE_UNDRAIN},
			{PLAN_UNDRAIN, ROLLOUT_OLDER}}},
	{ROLLOUT_OLDER, true,
		{{.kind = PLAN_ANNOUNCE_DRAIN}, {PLAN_DRAIN, ROLLOUT_OLDER}, {.kind = PLAN_ANNOUNCE_DRAINED},
			{PLAN_SWITCH_DRAINED, ROLLOUT_OLDER}, {.kind = PLAN_ANNOUNCE_UNDRAIN},
			{PLAN_UNDRAIN, ROLLOUT_OLDER}}},
};

/* Returns true if the candidate adds nothing to those before it. */
static bool is_idle(const struct plan_input *input, const struct candidate *candidate)
{
	if (candidate->first_wait == ROLLOUT_DRAINED)
		return !any_drains(input);
	return candidate->steps[0].kind > PLAN_SWITCH && !plan_any_down(input);
}

/* Makes the tables of a candidate that no earlier one had. False: out of memory, or a table is not valid. */
static bool make_plan(const struct plan_input *input, const struct candidate *candidate, struct plan_tables *tables,
	struct plan *plan)
{
	const struct candidate_step *from = candidate->steps;

	*plan = (struct plan){.first_wait = candidate->first_wait};
	do {
		struct plan_step *step = &tables->steps[from->kind][candidate->without_past && from->kind != PLAN_WANTED];

		if (!step->text.text && !make_step(input, from->kind, !candidate->without_past, step))
			return false;
		plan->steps[plan->count] = *step;
		plan->steps[plan->count++].wait = from->wait;
	} while (from++->kind != PLAN_WANTED);
	return true;
}

static bool is_better(const struct plan *plan, const struct plan *best)
{
	uint64_t lost = (uint64_t)plan->broken + plan->skew, least = (uint64_t)best->broken + best->skew;

	return best->count == 0 || lost < least;
}

bool plan_search(const struct plan_input *input, struct plan_tables *tables, struct plan *best)
{
	*best = (struct plan){0};
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		struct plan plan;

		progress("tried plans", i, sizeof(candidates) / sizeof(candidates[0]));
		if (is_idle(input, &candidates[i]))
			continue;
		if (!make_plan(input, &candidates[i], tables, &plan))
			return false;
		check(input, &plan);
		if (is_better(&plan, best))
			*best = plan;
		if (best->broken == 0 && best->skew == 0)
			return true;
	}
	return true;
}
