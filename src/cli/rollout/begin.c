/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans a roll-out, and writes it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "cli/alloc.h"
#include "cli/diff/diff_print.h"
#include "cli/plan/plan.h"
#include "cli/rollout/rollout_parts.h"
#include "fleet/keys.h"
#include "rollout/rollout_json.h"

/* Returns the text with the secrets of this host in place of their names. NULL: after an error. */
static char *expand(const struct session *session, const char *path, const char *text)
{
	struct faults faults = {.file = path};
	char *expanded = keys_expand(text, session->conf.keys_dir, &faults);

	cli_print_faults(&faults, FAULTS_ERRORS);
	return expanded;
}

/* Puts the names of secrets back into a step, as the text from which it was made has them. False: out of memory. */
static bool hide_keys(struct json_edit *step, const char *original)
{
	const struct json_edit from = {.text = (char *)original, .size = strlen(original)};
	static const char *const names[] = {"keys", "keys_id"}, *const secrets[] = {"hash_key", "seed"};
	char object[32], path[64], *value;
	bool done = true;

	for (unsigned table = 0; table < TABLE_MAX_TABLES && done; table++)
		for (unsigned i = 0; i < 2 && done; i++) {
			snprintf(object, sizeof(object), "tables[%u]", table);
			snprintf(path, sizeof(path), "%s.%s", object, names[i]);
			value = json_edit_get(&from, path);
			if (!value)
				continue;
			done = json_edit_set(step, object, names[i], value);
			snprintf(path, sizeof(path), "%s.%s", object, secrets[i]);
			done = done && json_edit_drop(step, path);
			free(value);
		}
	return done;
}

static bool read_current(struct plan_input *input, char *text)
{
	input->current_text = (struct json_edit){.text = text, .size = text ? strlen(text) : 0};
	return text && plan_build(input->current_path, &input->current_text, false, &input->current);
}

static void set_step(struct rollout *rollout, const struct table_set *set, const char *kind, uint32_t broken,
	enum rollout_wait wait, uint32_t wait_s)
{
	struct rollout_step *step = &rollout->steps[rollout->count++];

	text_hex64(table_set_fingerprint(set), step->fingerprint);
	snprintf(step->kind, sizeof(step->kind), "%s", kind);
	step->broken = broken;
	step->wait = wait;
	step->wait_s = wait == ROLLOUT_NO_WAIT ? 0 : wait_s;
}

/* Fills the steps. Two tables of the same digest need no plan, but their texts may differ. */
static void set_steps(struct rollout *rollout, const struct plan_input *input, const struct plan *plan,
	const struct rollout_terms *terms)
{
	set_step(rollout, &input->current, "before", 0, plan->first_wait, terms->wait_s);
	if (terms->canary)
		set_step(rollout, plan->count ? &plan->steps[0].set : &input->wanted.set, "canary",
			plan->count ? plan->steps[0].broken : 0, ROLLOUT_CANARY, terms->canary_s);
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct plan_step *step = &plan->steps[i];

		set_step(rollout, &step->set, plan_kind_name(step->kind), step->broken,
			i + 1 == plan->count ? ROLLOUT_NO_WAIT : step->wait, terms->wait_s);
	}
	if (plan->count == 0)
		set_step(rollout, &input->wanted.set, plan_kind_name(PLAN_WANTED), 0, ROLLOUT_NO_WAIT, 0);
}

/* Says what the roll-out waits for after the step; "": nothing. */
static const char *wait_text(const struct rollout_step *step, bool asks, char text[128])
{
	static const char *const texts[] = {
		[ROLLOUT_NO_WAIT] = "", [ROLLOUT_DRAINED] = "; then the proxies that leave drain", [ROLLOUT_OLDER] = "; then older connections end"};

	if (step->wait == ROLLOUT_NO_WAIT)
		return "";
	if (step->wait == ROLLOUT_CANARY) {
		snprintf(text, 128, " on the canary, which uses it alone for %" PRIu32 " s", step->wait_s);
		return text;
	}
	if (asks && step->wait == ROLLOUT_DRAINED && step->wait_s)
		snprintf(text, 128, "%s: waits for the metrics of the proxies, at most %" PRIu32 " s",
			texts[step->wait], step->wait_s);
	else if (asks && step->wait == ROLLOUT_DRAINED)
		snprintf(text, 128, "%s: waits for the metrics of the proxies", texts[step->wait]);
	else if (step->wait_s)
		snprintf(text, 128, "%s: waits %" PRIu32 " s", texts[step->wait], step->wait_s);
	else
		snprintf(text, 128, "%s: waits until you resume", texts[step->wait]);
	return text;
}

static void print_plan(const struct rollout *rollout, const struct plan_input *input, const struct plan *plan, bool asks)
{
	uint32_t rows = input->at_once.rows;
	char at_once[16], broken[16], wait[128];

	printf("roll-out %s: %" PRIu32 " step%s from the table in etcd to %s; %s of the rows break (at once: %s)\n",
		rollout->id, rollout->count - 1, text_plural(rollout->count - 1), input->wanted_path,
		diff_percent_text(plan->broken, rows, broken), diff_percent_text(input->at_once.broken, rows, at_once));
	for (uint32_t i = 0; i < rollout->count; i++) {
		const struct rollout_step *step = &rollout->steps[i];

		if (i > 0 || step->wait != ROLLOUT_NO_WAIT)
			printf("  step %" PRIu32 " %-9s %s of the rows break%s\n", i, step->kind,
				diff_percent_text(step->broken, rows, broken), wait_text(step, asks, wait));
	}
}

/* Checks that the plan begins where the directors are. The way back does not: they may be bad, and may be left out. */
static int check_directors(struct session *session, const struct rollout *rollout)
{
	struct rollout_view view = session_view(session);
	char reason[ROLLOUT_REASON_MAX];
	struct rollout now = *rollout;
	enum rollout_verdict verdict;

	now.state = ROLLOUT_RUNNING;
	now.table_revision = session->table_revision;
	verdict = rollout_judge(&now, &view, reason);
	for (size_t i = 0; i < session->director_count; i++) {
		const struct rollout_director *director = &session->directors[i];

		if (!director->healthy && !*director->fault && !rollout_is_without(rollout, director->name))
			command_note("director %s is not healthy before the roll-out: %s", director->name,
				director->reasons);
	}
	if (verdict != ROLLOUT_STOP && verdict != ROLLOUT_KEEP)
		return COMMAND_OK;
	return command_error(
		"rollout: not started: %s (step 0 is the table in etcd): mend it, or leave a director out with --without",
		reason);
}

/* An unhealthy canary would prove nothing. */
static bool set_canary(const struct session *session, struct rollout *rollout, const char *name)
{
	const struct rollout_director *director = session->directors, *end = director + session->director_count;

	while (director < end && strcmp(director->name, name) != 0)
		director++;
	if (director == end || *director->fault || !director->healthy || rollout_is_without(rollout, name)) {
		command_error("rollout: --canary: '%s' is not the name of a director that is alive, healthy, and counts",
			name);
		return false;
	}
	snprintf(rollout->canary, sizeof(rollout->canary), "%s", name);
	return true;
}

/* Step 0 and the last one are the texts that were read; see plan_step_text(). */
static char *make_text(const struct session *session, const struct plan_input *input, const struct plan *plan,
	const struct approved *approved, const char *wanted, uint32_t number)
{
	struct json_edit step = {0};

	if (number && approved)
		return strdup(approved->texts[number]);
	if (number == 0 || plan->count == 0)
		return strdup(number ? wanted : session->table);
	if (number == plan->count)
		return plan_step_text(input, plan, number - 1, wanted);
	step.text = plan_step_text(input, plan, number - 1, plan->steps[number - 1].text.text);
	step.size = strlen(step.text);
	if (!hide_keys(&step, wanted))
		alloc_failed();
	return step.text;
}

static void add_texts(const struct session *session, const struct rollout *rollout, const struct plan_input *input,
	const struct plan *plan, const struct approved *approved, const char *wanted, json_t *operations, size_t *size)
{
	char key[ROLLOUT_KEY_MAX];

	for (uint32_t i = 0; i < rollout->count; i++) {
		char *text = make_text(session, input, plan, approved, wanted, i - (*rollout->canary && i > 1));

		if (!text)
			alloc_failed();
		rollout_key(session->conf.prefix, key, "rollouts/%s/%" PRIu32, rollout->id, i);
		json_array_append_new(operations, etcd_put(key, text, 0));
		*size += strlen(text);
		free(text);
	}
}

void rollout_add_end(const struct session *session, const struct rollout *back, json_t *operations)
{
	struct rollout ended = *back;
	char key[ROLLOUT_KEY_MAX], *text;

	ended.state = ROLLOUT_ABORTED;
	text = rollout_text(&ended);
	if (text)
		json_array_append_new(
			operations, etcd_put(rollout_key(session->conf.prefix, key, "history/%s", back->id), text, 0));
	free(text);
	for (uint32_t i = 0; i < back->count; i++)
		json_array_append_new(operations,
			etcd_delete(rollout_key(session->conf.prefix, key, "rollouts/%s/%" PRIu32, back->id, i)));
}

static void name_rollout(struct rollout *rollout)
{
	time_t now = time(NULL);
	uint16_t number = 0;
	struct tm tm;
	size_t used;

	if (getrandom(&number, sizeof(number), 0) < 0)
		number = (uint16_t)now;
	gmtime_r(&now, &tm);
	used = strftime(rollout->id, sizeof(rollout->id), "%Y%m%d-%H%M%S", &tm);
	snprintf(rollout->id + used, sizeof(rollout->id) - used, "-%04x", number);
	utc_format(now, rollout->began);
	rollout_sign(rollout);
}

static int refuse_approved(const struct plan_input *input, const struct plan *plan, const struct rollout_terms *terms)
{
	char broken[16], skew[16];

	command_error(
		"%s: refused: its steps break %s of the rows, and a director that is one step behind loses new connections of %s; %.2f%% are allowed: compute the plan again, or accept the losses with --max-broken",
		terms->approved->dir, diff_percent_text(plan->broken, input->at_once.rows, broken),
		diff_percent_text(plan->skew, input->at_once.rows, skew), terms->max_broken);
	return CLI_BROKEN;
}

static int write_plan(struct session *session, const struct plan_input *input, const struct plan *plan,
	const char *wanted, const struct rollout *back, const struct rollout_terms *terms)
{
	struct rollout rollout = {
		.limit_s = terms->limit_s, .table_revision = session->puts_table ? 0 : session->table_revision};
	json_t *operations = json_array();
	int code = COMMAND_FAILED;
	size_t size = 0;

	name_rollout(&rollout);
	set_steps(&rollout, input, plan, terms);
	for (size_t i = 0; back && i < back->without_count; i++)
		rollout_add_without(&rollout, back->without[i]);
	if (back)
		snprintf(rollout.takes_back, sizeof(rollout.takes_back), "%s", back->id);
	print_plan(&rollout, input, plan, terms->proxies);
	if (!plan_is_allowed(input, plan, terms->max_broken) && terms->approved) {
		code = refuse_approved(input, plan, terms);
	} else if (!plan_is_allowed(input, plan, terms->max_broken)) {
		plan_print(input, plan, NULL);
		code = plan_refuse(input, plan, terms->max_broken);
	} else if (rollout_leave_out(&rollout, terms->without) &&
		   rollout_see(&rollout, session->directors, session->director_count) &&
		   (back || check_directors(session, &rollout) == COMMAND_OK) &&
		   (!terms->canary || set_canary(session, &rollout, terms->canary)) &&
		   (!terms->proxies || rollout_set_drains(&rollout, input, terms->proxies))) {
		add_texts(session, &rollout, input, plan, terms->approved, wanted, operations, &size);
		if (back)
			rollout_add_end(session, back, operations);
		code = session_write(session, &rollout, json_incref(operations), size) ? COMMAND_OK : COMMAND_FAILED;
	}
	json_decref(operations);
	rollout_free(&rollout);
	return code;
}

/* Returns true if both are the same table but for `replaces`, which is about the way to a table. */
static bool is_same(const char *a, const char *b)
{
	json_t *first = json_loads(a, JSON_REJECT_DUPLICATES, NULL), *other = json_loads(b, JSON_REJECT_DUPLICATES, NULL);
	bool same;

	json_object_del(first, "replaces");
	json_object_del(other, "replaces");
	same = first && json_equal(first, other);
	json_decref(first);
	json_decref(other);
	return same;
}

/* Makes a plan of steps that are given. False: after an error, such as a step that is no table. */
static bool follow_approved(const struct session *session, struct plan_input *input, const struct approved *approved,
	struct plan_tables *tables, struct plan *plan)
{
	char path[PATH_MAX];

	*plan = (struct plan){0};
	plan_compare(input);
	for (uint32_t i = 1; i < approved->count; i++) {
		struct plan_step *step = &tables->steps[i - 1][0];

		snprintf(path, sizeof(path), "%s/%u.json", approved->dir, (unsigned)i);
		step->kind = i + 1 == approved->count ? PLAN_WANTED : PLAN_APPROVED;
		step->text.text = expand(session, path, approved->texts[i]);
		if (!step->text.text)
			return false;
		step->text.size = strlen(step->text.text);
		if (!plan_build(path, &step->text, false, &step->set))
			return false;
		plan->steps[plan->count++] = *step;
	}
	plan_choose_waits(input, plan);
	return true;
}

static bool make_plan(const struct session *session, struct plan_input *input, const struct rollout_terms *terms,
	struct plan_tables *tables, struct plan *plan)
{
	return terms->approved ? follow_approved(session, input, terms->approved, tables, plan)
			       : plan_find(input, tables, plan);
}

int rollout_begin(struct session *session, const char *path, const char *text, const struct rollout *back,
	const struct rollout_terms *terms)
{
	char key[ROLLOUT_KEY_MAX];
	struct plan_input input = {.current_path = rollout_key(session->conf.prefix, key, "table"), .wanted_path = path};
	struct plan_tables tables = {0};
	struct plan plan;
	char *expanded;
	int code = COMMAND_FAILED;

	if (!session->table)
		return command_error(
			"%s: etcd has no table yet: put the one that the directors use now, once, with `etcdctl put %s < TABLE.json`",
			session->path, key);
	/* A plan may have changed `replaces` of the last step. */
	if (strcmp(session->table, text) == 0 ||
		((terms->approved || strstr(text, "\"replaces\"")) && is_same(session->table, text))) {
		printf("nothing to do: the table in etcd is %s already\n", path);
		return COMMAND_OK;
	}
	if (terms->approved && !is_same(session->table, terms->approved->texts[0]))
		return command_error(
			"%s: begins with another table than the one in etcd, %s, which somebody has changed since: compute the plan again from that table with `glb-director-cli plan --write`, and let it be approved",
			path, key);
	expanded = expand(session, path, text);
	if (expanded && read_current(&input, expand(session, key, session->table)) &&
		plan_parse_wanted(&input, expanded, strlen(expanded)) &&
		make_plan(session, &input, terms, &tables, &plan))
		code = write_plan(session, &input, &plan, text, back, terms);
	free(expanded);
	plan_tables_free(&tables);
	plan_input_free(&input);
	return code;
}
