/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/history.h"

#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/utc.h"
#include "program/log.h"
#include "table/file/json/json_copy.h"
#include "table/file/json/json_past.h"
#include "table/file/json/table_json.h"
#include "table/file/table_load.h"

#define CLOCKS_DIFFER_S 60 /* a state that is later by more is of a wrong clock */

static void forget_recorded(struct history *history)
{
	for (uint32_t t = 0; t < history->count; t++)
		while (history->tables[t].count)
			free(history->tables[t].recorded[--history->tables[t].count].backends);
}

void history_free(struct history *history)
{
	forget_recorded(history);
	for (uint32_t t = 0; t < history->count; t++) {
		free(history->tables[t].name);
		free(history->tables[t].state.backends);
	}
	free(history->tables);
	*history = (struct history){0};
}

/* Copies a state. False: out of memory. */
static bool copy_state(const struct table_past *from, struct table_past *to)
{
	*to = *from;
	to->backends = malloc((from->backend_count + 1) * sizeof(*to->backends));
	if (to->backends)
		memcpy(to->backends, from->backends, from->backend_count * sizeof(*to->backends));
	return to->backends;
}

/* Copies what identifies a table, and its present state. False: out of memory. */
static bool open_table(const struct table *table, struct history_table *out)
{
	*out = (struct history_table){.name = table->name ? strdup(table->name) : NULL,
		.binds = table_binds_digest(table),
		.family = table->backends[0].addr.family};
	memcpy(out->seed, table->seed, sizeof(out->seed));
	return (out->name || !table->name) && (!table_is_matched(table) || table_past_of(table, true, &out->state));
}

/* Begins the history of tables. False: out of memory; the history is then empty. */
static bool open_history(const struct table_set *set, struct history *history)
{
	bool opened;

	*history = (struct history){.tables = calloc(set->count + 1, sizeof(*history->tables))};
	opened = history->tables;
	for (uint32_t t = 0; opened && t < set->count; t++)
		opened = open_table(&set->tables[t], &history->tables[history->count++]);
	if (!opened)
		history_free(history);
	return opened;
}

static bool copy_recorded(const struct table *table, struct history_table *out)
{
	for (uint32_t i = 0; i < table->past_count; i++) {
		if (!table->past[i].by_health)
			continue;
		if (!copy_state(&table->past[i], &out->recorded[out->count]))
			return false;
		table_past_sort(&out->recorded[out->count++]);
	}
	return true;
}

void history_read(struct history *history, const char *text, size_t size)
{
	struct faults ignored = {0};
	struct table_set set = {0};
	struct history read;
	bool done = table_json_parse(text, size, &set, &ignored) == 0 && open_history(&set, &read);

	faults_clear(&ignored);
	if (done) {
		for (uint32_t t = 0; t < set.count && done; t++)
			done = copy_recorded(&set.tables[t], &read.tables[t]);
		history_free(done ? history : &read);
		if (done)
			*history = read;
	}
	table_set_free(&set);
}

static bool is_named(const struct table *table, const char *name)
{
	return table->name && name && strcmp(table->name, name) == 0;
}

/* Returns true if the table of dst has another name in the set, or none: no table there has its name. */
static bool is_renamed(const struct history_table *known, const struct table_set *set)
{
	bool named = false;

	for (uint32_t t = 0; t < set->count; t++)
		named |= is_named(&set->tables[t], known->name);
	return !named;
}

/* Returns what is known of a table; NULL: nothing, or its rows have another order now, or its proxies another family of
 * addresses. */
static struct history_table *find(const struct history *history, const struct table_set *set, uint32_t t)
{
	const struct table *table = &set->tables[t];
	uint64_t binds = table_binds_digest(table);
	struct history_table *found = NULL;

	for (uint32_t i = 0; i < history->count && !found; i++)
		if (table->name ? is_named(table, history->tables[i].name) : i == t && !history->tables[i].name)
			found = &history->tables[i];
	for (uint32_t i = 0; binds && i < history->count && !found; i++)
		if (history->tables[i].binds == binds && is_renamed(&history->tables[i], set))
			found = &history->tables[i];
	return found && found->state.backends && found->family == table->backends[0].addr.family &&
			       memcmp(found->seed, table->seed, sizeof(found->seed)) == 0
		       ? found
		       : NULL;
}

/* The next `previous` of a table. */
struct draft {
	const struct table *table;
	const struct table_past *states[1 + 2 * TABLE_MAX_PAST]; /* newest first; borrowed */
	enum table_past_fate fates[1 + 2 * TABLE_MAX_PAST];
	uint32_t count;
	struct table_past before; /* state of dst that the write replaces; its backends are borrowed */
	bool changes; /* the table no longer has the states of src alone */
};

/* Returns the index of the state among those of src; past_count: it is recorded. */
static uint32_t place_in_src(const struct table *table, const struct table_past *state)
{
	return state >= table->past && state < table->past + table->past_count ? (uint32_t)(state - table->past)
									       : table->past_count;
}

/* Returns true if the newest state is of src, and the same as this one: edit has recorded the change already. */
static bool is_edited(const struct draft *draft, const struct table_past *state)
{
	return draft->count && place_in_src(draft->table, draft->states[0]) < draft->table->past_count &&
	       table_past_is_same(state, draft->states[0]);
}

/* Merges the states of src and the recorded ones, newest first. A recorded state that src has, too, is left out. */
static void merge(struct draft *draft, const struct history_table *known, int64_t now, uint32_t keep_s, bool moved)
{
	const struct table *table = draft->table;
	uint32_t from_src = 0;

	for (uint32_t i = 0; known && i < known->count; i++) {
		const struct table_past *recorded = &known->recorded[i];
		bool useless = keep_s == 0 || (moved && table_past_is_old(recorded, now, keep_s));

		for (uint32_t s = 0; s < table->past_count; s++)
			useless |= table_past_is_same(recorded, &table->past[s]);
		if (useless)
			continue;
		while (from_src < table->past_count && table->past[from_src].time >= recorded->time)
			draft->states[draft->count++] = &table->past[from_src++];
		draft->states[draft->count++] = recorded;
	}
	while (from_src < table->past_count)
		draft->states[draft->count++] = &table->past[from_src++];
}

/* A clock that was ahead recorded states that would stay too long, and one that was not set recorded states that would
 * leave at once. A clock that is not set now corrects nothing. A state of src, too, may be of the future: edit runs on
 * another host. */
static void correct_times(struct history_table *known, const struct table *table, int64_t now)
{
	int64_t latest = now + CLOCKS_DIFFER_S, newest = now;
	uint32_t corrected = 0;

	if (table->past_count && table->past[0].time > latest)
		latest = table->past[0].time;
	for (uint32_t i = 0; utc_is_set(now) && i < known->count; i++) {
		int64_t *when = &known->recorded[i].time;

		if (*when > latest || !utc_is_set(*when)) {
			*when = newest;
			corrected++;
		}
		newest = *when < newest ? *when : newest;
	}
	if (corrected)
		log_warning(
			"table %s: %u previous state%s that glb-healthcheck recorded had a time in the future or before 2026, because the clock was wrong then or is behind now: %s now the present time",
			known->name ? known->name : "without a name", corrected, text_plural(corrected),
			corrected == 1 ? "it has" : "they have");
}

static void make_draft(struct draft *draft, const struct history_table *known, const struct table_past *state,
	int64_t now, uint32_t keep_s)
{
	static const struct table_past nothing = {0};
	bool moved = known && keep_s && !table_past_is_same(&known->state, state), again;
	struct table_past_change change = {
		.table = draft->table, .before = &nothing, .now = state, .time = now, .keep_s = UINT32_MAX};

	merge(draft, known, now, keep_s, moved);
	if (moved && known->state.backend_count && !is_edited(draft, &known->state)) {
		draft->before = known->state;
		draft->before.by_health = true;
		draft->before.time = draft->count && draft->states[0]->time > now ? draft->states[0]->time : now;
		change.before = &draft->before;
	}
	/* Without a new state, the last change decides again as it did then, so that dst stays the same. A state of src
	 * may be unsorted: if src repeats it, the other one stays, too. */
	again = !draft->before.backend_count && draft->count && !table_past_is_same(state, draft->states[0]);
	if (again) {
		change.before = draft->states[0];
		change.time = draft->states[0]->time;
	}
	table_past_choose(&change, draft->states + again, draft->count - again, draft->fates + again);
	draft->changes = draft->before.backend_count;
	for (uint32_t i = 0; i < draft->count; i++) {
		bool recorded = place_in_src(draft->table, draft->states[i]) == draft->table->past_count;

		draft->changes |= draft->fates[i] == TABLE_PAST_KEPT ? recorded : draft->fates[i] == TABLE_PAST_CROWDED;
	}
}

/* Copies the states that are recorded now. */
static bool keep_recorded(const struct draft *draft, struct history_table *next)
{
	if (draft->before.backend_count && !copy_state(&draft->before, &next->recorded[next->count++]))
		return false;
	for (uint32_t i = 0; i < draft->count; i++)
		if (draft->fates[i] == TABLE_PAST_KEPT &&
			place_in_src(draft->table, draft->states[i]) == draft->table->past_count &&
			!copy_state(draft->states[i], &next->recorded[next->count++]))
			return false;
	return true;
}

/* Sets `previous` in the text of a table. The states of src keep their text. */
static bool write_draft(void *context, struct json_edit *edit)
{
	const struct draft *draft = context;
	struct past_list list = {0};
	char path[32];

	if (draft->before.backend_count)
		past_list_add(&list, past_text(&draft->before));
	for (uint32_t i = 0; i < draft->count; i++) {
		uint32_t place = place_in_src(draft->table, draft->states[i]);

		if (draft->fates[i] != TABLE_PAST_KEPT)
			continue;
		snprintf(path, sizeof(path), "previous[%u]", place);
		past_list_add(&list,
			place < draft->table->past_count ? json_edit_get(edit, path) : past_text(draft->states[i]));
	}
	return past_list_write(&list, edit, "");
}

char *history_add(struct history *history, const struct table_document *document, int64_t now, uint32_t keep_s,
	char *text, size_t *size, struct history *next)
{
	const struct table_set *set = &document->set;
	struct json_copy copy = {.locate = {.text = text, .size = *size}};
	char *result = NULL;
	size_t result_size;
	bool done = text && open_history(set, next);

	copy.to = done ? open_memstream(&result, &result_size) : NULL;
	done = copy.to;
	for (uint32_t t = 0; done && t < set->count; t++) {
		struct draft draft = {.table = &set->tables[t]};
		struct history_table *known = find(history, set, t);

		if (!next->tables[t].state.backends)
			continue;
		if (known)
			correct_times(known, draft.table, now);
		make_draft(&draft, known, &next->tables[t].state, now, keep_s);
		done = keep_recorded(&draft, &next->tables[t]) &&
		       (!draft.changes || past_copy_table(&copy, t, write_draft, &draft));
	}
	if (copy.to) {
		json_copy_until(&copy, *size);
		done = fclose(copy.to) == 0 && done;
	}
	/* Nobody reads a table that is too large, so health would reach no director. */
	if (done && result_size > TABLE_LOAD_MAX_JSON) {
		free(result);
		forget_recorded(next);
		return text;
	}
	free(text);
	if (done) {
		*size = result_size;
		return result;
	}
	free(result);
	history_free(next);
	return NULL;
}
