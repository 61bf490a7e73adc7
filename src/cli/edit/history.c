/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/edit/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/past.h"
#include "common/text.h"
#include "common/utc.h"
#include "table/file/json/json_copy.h"

#define MAX_KEEP_S (10 * 365 * 24 * 3600)

bool history_keep(const struct command_args *args, uint32_t *keep_s)
{
	const char *text = args->options[CHANGE_KEEP];

	*keep_s = HISTORY_KEEP_S;
	if (!text || text_duration(text, MAX_KEEP_S, keep_s))
		return true;
	if (strcmp(text, "0") != 0) {
		command_usage("--keep: '%s' is not 0 or a duration of at most 10 years, such as 30m or 24h", text);
		return false;
	}
	*keep_s = 0;
	return true;
}

/* The next `previous` of a table. */
struct draft {
	const struct change *change;
	uint32_t t;
	struct json_edit *edit; /* the whole text, or that of the table */
	const char *object; /* path of the table in the text; "": it is the text */
	struct past_list list;
};

static void add_kept(struct draft *draft, uint32_t index)
{
	char path[64];

	snprintf(path, sizeof(path), "%s%sprevious[%u]", draft->object, *draft->object ? "." : "", index);
	past_list_add(&draft->list, json_edit_get(draft->edit, path));
}

/* Writes the draft, and frees it. */
static bool finish(struct draft *draft)
{
	return past_list_write(&draft->list, draft->edit, draft->object) ||
	       command_error("%s: its previous states cannot be written: out of memory", draft->change->named) ==
		       COMMAND_OK;
}

static void say_forgotten(const struct table_set *set, uint32_t t, const struct table_past *past, const char *why)
{
	char label[16], text[UTC_TEXT_MAX];

	printf("%s: forgets the previous state of %s: %s\n", table_label(set, t, label), utc_format(past->time, text),
		why);
}

/* Adds the state that the change replaces. It is never older than the states after it, so that a clock that was set
 * back does not make edit forget it too early. */
static void add_replaced(struct draft *draft, struct table_past *state, const struct table *table, int64_t now)
{
	char label[16], text[UTC_TEXT_MAX];
	const char *name = table_label(&draft->change->old.set, draft->t, label);

	state->time = now;
	if (table->past_count && table->past[0].time > now) {
		state->time = table->past[0].time;
		command_error(
			"warning: %s: the clock of this host is behind the newest previous state of table %s, %s: correct the clock, or drop the states with a wrong time with forget --keep 0",
			draft->change->named, name, utc_format(state->time, text));
	} else if (!utc_is_set(now)) {
		command_error(
			"warning: %s: the clock of this host is wrong: it says %s: correct it, because the previous states of table %s are forgotten by their age",
			draft->change->named, utc_format(now, text), name);
	}
	past_list_add(&draft->list, past_text(state));
}

/* A table whose state has changed. */
struct moved {
	struct change *change;
	const struct table_set *set;
	uint32_t t;
	struct table_past states[2]; /* before and after the change */
	uint32_t keep_s;
};

/* Makes `previous` of the table, whose text is `edit`: the replaced state, and those before it that still count. */
static bool write_states(void *context, struct json_edit *edit)
{
	struct moved *moved = context;
	const struct table_set *set = moved->set;
	struct table_past *states = moved->states;
	uint32_t t = moved->t, keep_s = moved->keep_s;
	const struct table *table = &set->tables[t];
	struct draft draft = {.change = moved->change, .t = t, .edit = edit, .object = ""};
	int64_t now = time(NULL);
	const struct table_past_change what = {
		.table = table, .before = &states[0], .now = &states[1], .time = now, .keep_s = keep_s};
	const struct table_past *past[TABLE_MAX_PAST];
	enum table_past_fate fates[TABLE_MAX_PAST];

	if (keep_s && states[0].backend_count)
		add_replaced(&draft, &states[0], table, now);
	for (uint32_t i = 0; i < table->past_count; i++)
		past[i] = &table->past[i];
	table_past_choose(&what, past, table->past_count, fates);
	for (uint32_t i = 0; i < table->past_count; i++) {
		if (fates[i] == TABLE_PAST_OLD)
			say_forgotten(set, t, past[i], "it is older than --keep (24h unless given)");
		else if (fates[i] == TABLE_PAST_CROWDED)
			say_forgotten(set, t, past[i], "a table has at most 16, and this one adds least for its age");
		else if (fates[i] == TABLE_PAST_KEPT)
			add_kept(&draft, i);
	}
	return finish(&draft);
}

/* Copies table t if its state has changed. */
static bool update_table(
	struct change *change, const struct table_set *set, uint32_t t, struct json_copy *copy, uint32_t keep_s)
{
	const struct table *old = &change->old.set.tables[t], *new = &set->tables[t];
	struct moved moved = {.change = change, .set = set, .t = t, .keep_s = keep_s};
	bool updated = true;

	/* With another seed, previous states say nothing about the rows. */
	if (memcmp(old->seed, new->seed, SIPHASH_KEY_SIZE) != 0)
		return true;
	past_of_table(old, true, &moved.states[0]);
	past_of_table(new, true, &moved.states[1]);
	if (!table_past_is_same(&moved.states[0], &moved.states[1]))
		updated = past_copy_table(copy, t, write_states, &moved);
	free(moved.states[0].backends);
	free(moved.states[1].backends);
	return updated;
}

bool history_update(struct change *change, const struct table_document *new, uint32_t keep_s, bool *changed)
{
	struct json_copy copy = {.locate = {.text = change->after.text, .size = change->after.size}};
	struct json_edit text = {0};
	bool updated = true;

	copy.to = open_memstream(&text.text, &text.size);
	if (!copy.to)
		return command_error("out of memory") == COMMAND_OK;
	for (uint32_t t = 0; t < new->set.count &&t < change->old.set.count &&updated; t++)
		updated = update_table(change, &new->set, t, &copy, keep_s);
	*changed = copy.done > 0;
	json_copy_until(&copy, change->after.size);
	updated = fclose(copy.to) == 0 && updated;
	if (!updated) {
		free(text.text);
		return false;
	}
	free(change->after.text);
	change->after = text;
	return true;
}

bool history_forget_old(struct change *change, uint32_t t, uint32_t keep_s)
{
	const struct table *table = &change->old.set.tables[t];
	char object[32];
	struct draft draft = {.change = change, .t = t, .edit = &change->after, .object = object};
	int64_t now = time(NULL);
	uint32_t old = 0;

	for (uint32_t i = 0; i < table->past_count; i++)
		old += table_past_is_old(&table->past[i], now, keep_s);
	snprintf(object, sizeof(object), "tables[%u]", t);
	for (uint32_t i = 0; i < table->past_count && old; i++)
		if (table_past_is_old(&table->past[i], now, keep_s))
			say_forgotten(&change->old.set, t, &table->past[i], "it is older than --keep (24h unless given)");
		else
			add_kept(&draft, i);
	return !old || finish(&draft);
}

bool history_keep_newest(struct change *change, uint32_t t, uint32_t count)
{
	char object[32];
	struct draft draft = {.change = change, .t = t, .edit = &change->after, .object = object};

	snprintf(object, sizeof(object), "tables[%u]", t);
	for (uint32_t i = 0; i < count; i++)
		add_kept(&draft, i);
	return finish(&draft);
}
