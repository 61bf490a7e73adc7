/* SPDX-License-Identifier: BSD-3-Clause */
#include "rollout/rollout_json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"

/* Copies text from outside. A character that is cut or is no character becomes '?'. */
static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
	text_mend(to);
}

static bool wrong(char *fault, const char *what)
{
	snprintf(fault, ROLLOUT_REASON_MAX, "%s", what);
	return false;
}

static bool is_hex64(const char *text)
{
	return strlen(text) == TEXT_HEX64 - 1 && strspn(text, "0123456789abcdef") == TEXT_HEX64 - 1;
}

static bool parse_step(json_t *json, struct rollout_step *step, char *fault)
{
	const char *fingerprint, *kind, *wait;
	json_int_t broken, wait_s;
	json_error_t error;

	if (json_unpack_ex(json, &error, JSON_STRICT, "{s:s, s:s, s:I, s:s, s:I}", "fingerprint", &fingerprint, "kind",
		    &kind, "broken", &broken, "wait", &wait, "wait_s", &wait_s) < 0)
		return wrong(fault, error.text);
	while (step->wait <= ROLLOUT_CANARY && strcmp(wait, rollout_wait_name(step->wait)) != 0)
		step->wait++;
	if (!is_hex64(fingerprint) || step->wait > ROLLOUT_CANARY || broken < 0 || broken > UINT32_MAX || wait_s < 0 ||
		wait_s > INT32_MAX)
		return wrong(fault, "a member of a step is out of range");
	step->broken = (uint32_t)broken;
	step->wait_s = (uint32_t)wait_s;
	copy(step->fingerprint, sizeof(step->fingerprint), fingerprint);
	copy(step->kind, sizeof(step->kind), kind);
	return true;
}

static bool parse_steps(const json_t *steps, struct rollout *rollout, char *fault)
{
	size_t i;
	json_t *step;

	if (json_array_size(steps) < 2 || json_array_size(steps) > ROLLOUT_MAX_STEPS)
		return wrong(fault, "`steps` is not an array of 2 to " TEXT_OF(ROLLOUT_MAX_STEPS) " steps");
	json_array_foreach(steps, i, step) if (!parse_step(step, &rollout->steps[i], fault)) return false;
	rollout->count = (uint32_t)json_array_size(steps);
	for (i = 0; i < rollout->count; i++)
		if ((rollout->steps[i].wait == ROLLOUT_CANARY) != (i == 1 && *rollout->canary) ||
			(rollout->steps[i].wait == ROLLOUT_CANARY && (!rollout->steps[i].wait_s || rollout->count < 3)))
			return wrong(fault, "`canary` and the waits for it do not fit");
	return true;
}

static bool parse_names(const json_t *without, json_t *seen, struct rollout *rollout, char *fault)
{
	const char *name;
	json_t *value;
	size_t i;

	if (!json_is_array(without) || !json_is_object(seen) || json_object_size(seen) > ROLLOUT_MAX_DIRECTORS)
		return wrong(fault, "`without` is not an array, or `seen` not an object of directors");
	json_array_foreach(without, i, value)
	{
		name = json_string_value(value);
		if (!name || !rollout_is_name(name) || !rollout_add_without(rollout, name))
			return wrong(fault, "`without` is not an array of names of directors");
	}
	json_object_foreach(seen, name, value)
	{
		struct rollout_seen *item = rollout_is_name(name) && json_is_boolean(value)
						    ? array_append(&rollout->seen, &rollout->seen_count, sizeof(*item))
						    : NULL;

		if (!item)
			return wrong(fault, "`seen` does not have the health of directors");
		copy(item->name, sizeof(item->name), name);
		item->healthy = json_is_true(value);
	}
	return true;
}

/* The numbers of the document. */
struct numbers {
	json_int_t step, counted_s, limit_s, plan_revision, table_revision;
	int reached, proved;
};

static bool set_numbers(struct rollout *rollout, const struct numbers *from, uint64_t revision, char *fault)
{
	if (from->step < 0 || from->step >= rollout->count || from->counted_s < 0 || from->counted_s > INT32_MAX ||
		from->limit_s < 1 || from->limit_s > INT32_MAX || from->plan_revision < 0 || from->table_revision < 0)
		return wrong(fault, "a number is out of range");
	rollout->step = (uint32_t)from->step;
	rollout->counted_s = (uint32_t)from->counted_s;
	rollout->limit_s = (uint32_t)from->limit_s;
	rollout->plan_revision = from->plan_revision ? (uint64_t)from->plan_revision : revision;
	rollout->table_revision = from->table_revision ? (uint64_t)from->table_revision : revision;
	rollout->reached = from->reached;
	rollout->proved = from->proved;
	return true;
}

static bool parse(json_t *root, uint64_t revision, struct rollout *rollout, char *fault)
{
	const char *id, *takes_back, *state, *by, *reason, *began, *canary;
	json_t *steps, *without, *seen, *drains;
	struct numbers numbers;
	json_error_t error;

	if (json_unpack_ex(root, &error, JSON_STRICT,
		    "{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:b, s:b, s:I, s:I, s:I, s:I, s:o, s:o, s:s, s:o}", "id",
		    &id, "takes_back", &takes_back, "state", &state, "by", &by, "reason", &reason, "began", &began,
		    "steps", &steps, "step", &numbers.step, "reached", &numbers.reached, "proved", &numbers.proved,
		    "counted_s", &numbers.counted_s, "limit_s", &numbers.limit_s, "plan_revision",
		    &numbers.plan_revision, "table_revision", &numbers.table_revision, "without", &without, "seen",
		    &seen, "canary", &canary, "drains", &drains) < 0)
		return wrong(fault, error.text);
	while (rollout->state <= ROLLOUT_ABORTED && strcmp(state, rollout_state_name(rollout->state)) != 0)
		rollout->state++;
	if (rollout->state > ROLLOUT_ABORTED)
		return wrong(fault, "`state` is not the name of a state");
	if (!json_is_array(drains) || (*canary && !rollout_is_name(canary)))
		return wrong(fault, "`drains` is not an array, or `canary` not the name of a director");
	copy(rollout->canary, sizeof(rollout->canary), canary);
	rollout->drains = json_array_size(drains) ? json_dumps(drains, JSON_COMPACT) : NULL;
	if (!rollout_is_name(id) || strlen(id) >= ROLLOUT_ID_MAX || strlen(takes_back) >= ROLLOUT_ID_MAX)
		return wrong(fault, "`id` or `takes_back` is not the name of a roll-out");
	copy(rollout->id, sizeof(rollout->id), id);
	copy(rollout->takes_back, sizeof(rollout->takes_back), takes_back);
	copy(rollout->by, sizeof(rollout->by), by);
	copy(rollout->reason, sizeof(rollout->reason), reason);
	copy(rollout->began, sizeof(rollout->began), began);
	return parse_steps(steps, rollout, fault) && set_numbers(rollout, &numbers, revision, fault) &&
	       parse_names(without, seen, rollout, fault);
}

bool rollout_parse(const char *text, uint64_t revision, struct rollout *rollout, char fault[ROLLOUT_REASON_MAX])
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	bool parsed;

	*rollout = (struct rollout){0};
	parsed = root ? parse(root, revision, rollout, fault) : wrong(fault, text_without_token(error.text));
	json_decref(root);
	if (!parsed) {
		text_mend(fault);
		rollout_free(rollout);
	}
	return parsed;
}

json_t *rollout_json(const struct rollout *rollout)
{
	json_t *steps = json_array(), *without = json_array(), *seen = json_object();

	for (uint32_t i = 0; i < rollout->count; i++) {
		const struct rollout_step *step = &rollout->steps[i];

		json_array_append_new(steps, json_pack("{s:s, s:s, s:I, s:s, s:I}", "fingerprint", step->fingerprint,
						     "kind", step->kind, "broken", (json_int_t)step->broken, "wait",
						     rollout_wait_name(step->wait), "wait_s", (json_int_t)step->wait_s));
	}
	for (size_t i = 0; i < rollout->without_count; i++)
		json_array_append_new(without, json_string(rollout->without[i]));
	for (size_t i = 0; i < rollout->seen_count; i++)
		json_object_set_new(seen, rollout->seen[i].name, json_boolean(rollout->seen[i].healthy));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:b, s:b, s:I, s:I, s:I, s:I, s:o, s:o, s:s, s:o}",
		"id", rollout->id, "takes_back", rollout->takes_back, "state", rollout_state_name(rollout->state), "by",
		rollout->by, "reason", rollout->reason, "began", rollout->began, "steps", steps, "step",
		(json_int_t)rollout->step, "reached", rollout->reached, "proved", rollout->proved, "counted_s",
		(json_int_t)rollout->counted_s, "limit_s", (json_int_t)rollout->limit_s, "plan_revision",
		(json_int_t)rollout->plan_revision, "table_revision", (json_int_t)rollout->table_revision, "without",
		without, "seen", seen, "canary", rollout->canary, "drains",
		rollout->drains ? json_loads(rollout->drains, 0, NULL) : json_array());
}

char *rollout_text(const struct rollout *rollout)
{
	json_t *json = rollout_json(rollout);
	char *text = json ? json_dumps(json, JSON_PRESERVE_ORDER | JSON_COMPACT) : NULL;

	json_decref(json);
	return text;
}

/* What glb-fleet says about the table of its director. It may use none, and have refused none. */
static bool read_director(json_t *root, struct rollout_director *director)
{
	const char *name, *fingerprint = "", *first_hops = "", *refusal = "", *version = "", *changed = "";
	json_int_t revision = 0, refused = 0;
	json_t *table, *refuses, *reasons, *reason;
	json_error_t error;
	size_t i;

	int healthy;

	if (json_unpack_ex(root, &error, 0, "{s:s, s:s, s:o, s:o, s:b, s:o, s:s}", "name", &name, "version", &version,
		    "table", &table, "refused", &refuses, "healthy", &healthy, "reasons", &reasons, "changed",
		    &changed) < 0 ||
		(json_is_object(table) && json_unpack_ex(table, &error, 0, "{s:s, s:I, s?s}", "fingerprint",
						  &fingerprint, "revision", &revision, "first_hops", &first_hops) < 0) ||
		(json_is_object(refuses) &&
			json_unpack_ex(refuses, &error, 0, "{s:I, s:s}", "revision", &refused, "reason", &refusal) < 0))
		return wrong(director->fault, error.text);
	if (strcmp(name, director->name) != 0)
		return wrong(director->fault, "it has the name of another director");
	if (revision < 0 || refused < 0 || (*fingerprint && !is_hex64(fingerprint)) || !json_is_array(reasons))
		return wrong(director->fault, "a member is out of range");
	director->revision = (uint64_t)revision;
	director->refused = (uint64_t)refused;
	director->healthy = healthy;
	copy(director->fingerprint, sizeof(director->fingerprint), fingerprint);
	copy(director->first_hops, sizeof(director->first_hops), first_hops);
	copy(director->refusal, sizeof(director->refusal), refusal);
	copy(director->version, sizeof(director->version), version);
	copy(director->changed, sizeof(director->changed), changed);
	json_array_foreach(reasons, i, reason)
	{
		size_t used = strlen(director->reasons);

		if (json_is_string(reason) && used < sizeof(director->reasons) - 3)
			snprintf(director->reasons + used, sizeof(director->reasons) - used, "%s%s", used ? "; " : "",
				json_string_value(reason));
	}
	text_mend(director->reasons);
	return true;
}

void rollout_parse_director(const char *name, const char *text, struct rollout_director *director)
{
	json_error_t error;
	json_t *root;

	*director = (struct rollout_director){0};
	copy(director->name, sizeof(director->name), name);
	if (!rollout_is_name(name)) {
		wrong(director->fault,
			"its name has characters other than letters, digits, '.', '_' and '-', or more than 64");
		return;
	}
	if (!text) {
		wrong(director->fault, "it is not text, or too long");
		return;
	}
	root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		wrong(director->fault, text_without_token(error.text));
	else
		read_director(root, director);
	json_decref(root);
	text_mend(director->fault);
}
