/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/leader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fleet/leader_parts.h"
#include "program/log.h"
#include "rollout/rollout_json.h"

#define LEASE_S   15
#define JITTER_MS 1500 /* so that not all of a fleet try to lead at once */
#define RETRY_MS  5000 /* after etcd refused a request */
#define BLIND_MS  30000 /* a leader that does not see etcd for so long lets another one try */
#define STEADY_MS 10000 /* a cause of a stop that passes sooner, such as a restart of an agent, stops nothing */
#define BUSY_MS   500 /* between two looks at a roll-out */
#define IDLE_MS   60000
#define CLOSE_MS  1000 /* for a request that is under way */

static bool leads(const struct leader *leader)
{
	uint64_t lease = leader->lease ? etcd_lease_id(leader->lease) : 0;

	return lease && leader->keys[LEADER_NAME].revision && leader->holder == lease;
}

/* Notes a reply that did not change etcd. What etcd has now comes by the mirrors. */
static void note_failure(struct leader *leader, const char *what, enum etcd_result result)
{
	const char *why = etcd_state(leader->etcd)->error;

	leader->not_before_ms = leader->now_ms + RETRY_MS;
	snprintf(leader->state.error, sizeof(leader->state.error), "cannot %s: %s%.400s", what,
		result == ETCD_DENIED ? "the role of this host may not do that in etcd: " : "", why);
	log_limited(LOG_LEVEL_WARNING, "roll-out %s: %s", leader->rollout.id, leader->state.error);
}

static void end_contest(void *data, enum etcd_result result, const json_t *body)
{
	struct leader *leader = data;

	leader->asking = false;
	if (result != ETCD_DONE)
		note_failure(leader, "become the leader", result);
	else if (etcd_txn_succeeded(body))
		log_info("leads the roll-outs of %s", leader->prefix);
}

static void resign(struct leader *leader)
{
	if (leader->lease)
		etcd_lease_end(leader->lease);
	leader->lease = NULL;
	leader->contest_ms = leader->blind_ms = leader->bad_ms = leader->calm_ms = 0;
	leader->clock = (struct rollout_clock){0};
	leader_end_drain(leader);
	leader_unwatch(leader, LEADER_TABLE);
	leader_unwatch(leader, LEADER_DIRECTORS);
	free(leader->text);
	leader->text = NULL;
}

/* Tries to become the leader if there is none. */
static void contest(struct leader *leader)
{
	char key[ROLLOUT_KEY_MAX];
	uint64_t lease;

	leader->clock = (struct rollout_clock){0};
	leader_end_drain(leader); /* under another leader, the phase may begin again unseen */
	if (!leader_sees(leader, LEADER_NAME))
		return;
	if (leader->keys[LEADER_NAME].revision) {
		leader->contest_ms = 0;
		return;
	}
	if (!leader->contest_ms)
		leader->contest_ms = leader->now_ms + (uint64_t)random() % JITTER_MS;
	if (leader->now_ms < leader->contest_ms)
		return;
	if (!leader->lease)
		leader->lease = etcd_lease_open(leader->etcd, LEASE_S);
	lease = leader->lease ? etcd_lease_id(leader->lease) : 0;
	if (!lease)
		return;
	rollout_key(leader->prefix, key, "leader");
	leader->asking = true;
	etcd_request(leader->etcd, ETCD_TXN,
		etcd_txn(json_pack("[o]", etcd_compare_revision(key, 0)),
			json_pack("[o]", etcd_put(key, leader->name, lease))),
		end_contest, leader);
}

static void log_verdict(const struct leader *leader)
{
	const struct rollout *rollout = &leader->rollout;

	switch (leader->asked) {
	case ROLLOUT_ADVANCE:
		log_notice("roll-out %s: published step %" PRIu32 " of %" PRIu32 " (%s)", rollout->id,
			leader->asked_step, rollout->count - 1, rollout->steps[leader->asked_step].kind);
		break;
	case ROLLOUT_REACH:
		log_info("roll-out %s: all directors use step %" PRIu32, rollout->id, leader->asked_step);
		break;
	case ROLLOUT_FINISH:
		log_notice("roll-out %s: done", rollout->id);
		break;
	case ROLLOUT_STOP:
		log_error("roll-out %s: stopped: %s", rollout->id, leader->state.reason);
		break;
	default:
		log_info("roll-out %s: %s", rollout->id, leader->state.reason);
	}
}

static void end_write(void *data, enum etcd_result result, const json_t *body)
{
	struct leader *leader = data;

	leader->asking = false;
	if (result != ETCD_DONE) {
		note_failure(leader, "advance it", result);
	} else if (etcd_txn_succeeded(body)) {
		leader->state.error[0] = '\0';
		leader->replaced = leader->asked_revision;
		log_verdict(leader);
	}
}

/* Compares all that the verdict follows from, so that it is carried out only if nothing of it has changed. */
static json_t *compares(const struct leader *leader)
{
	static const char *const names[] = {
		[LEADER_ROLLOUT] = "rollout", [LEADER_NAME] = "leader", [LEADER_TABLE] = "table"};
	json_t *made = json_array();
	char key[ROLLOUT_KEY_MAX];

	for (unsigned i = LEADER_ROLLOUT; i <= LEADER_TABLE; i++)
		json_array_append_new(made, etcd_compare_revision(rollout_key(leader->prefix, key, "%s", names[i]),
						    leader->keys[i].revision));
	return made;
}

/* Adds the operations that a verdict has besides the document. */
static void add_operations(
	struct leader *leader, const struct rollout *next, const char *document, json_t *compare, json_t *operations)
{
	char key[ROLLOUT_KEY_MAX];

	if (leader->asked == ROLLOUT_ADVANCE) {
		rollout_key(leader->prefix, key, "rollouts/%s/%" PRIu32, next->id, next->step);
		json_array_append_new(compare, etcd_compare_revision(key, next->plan_revision));
		if (!rollout_is_canary(next))
			json_array_append_new(
				operations, etcd_put(rollout_key(leader->prefix, key, "table"), leader->text, 0));
	}
	if (leader->asked != ROLLOUT_FINISH)
		return;
	json_array_append_new(
		operations, etcd_put(rollout_key(leader->prefix, key, "history/%s", next->id), document, 0));
	for (uint32_t i = 0; i < next->count; i++)
		json_array_append_new(
			operations, etcd_delete(rollout_key(leader->prefix, key, "rollouts/%s/%" PRIu32, next->id, i)));
}

static void carry_out(struct leader *leader, enum rollout_verdict verdict, const struct rollout_view *view)
{
	char *before = rollout_text(&leader->rollout), *after = NULL, key[ROLLOUT_KEY_MAX], fault[ROLLOUT_REASON_MAX];
	json_t *compare = compares(leader), *operations;
	struct rollout next = {0};

	/* The document in etcd changes by the transaction only, so a copy is made. */
	if (before && rollout_parse(before, leader->keys[LEADER_ROLLOUT].revision, &next, fault) &&
		rollout_apply(&next, verdict, view, leader->state.reason))
		after = rollout_text(&next);
	if (after) {
		leader->asked = verdict;
		leader->asked_step = next.step;
		leader->asked_revision = leader->keys[LEADER_ROLLOUT].revision;
		operations = json_pack("[o]", etcd_put(rollout_key(leader->prefix, key, "rollout"), after, 0));
		add_operations(leader, &next, after, compare, operations);
		leader->asking = true;
		etcd_request(leader->etcd, ETCD_TXN, etcd_txn(json_incref(compare), operations), end_write, leader);
	}
	json_decref(compare);
	rollout_free(&next);
	free(before);
	free(after);
}

static void end_read(void *data, enum etcd_result result, const json_t *body)
{
	struct leader *leader = data;
	struct etcd_kv kv;

	leader->asking = false;
	free(leader->text);
	leader->text = NULL;
	if (result != ETCD_DONE) {
		note_failure(leader, "read the table of the next step", result);
		return;
	}
	if (etcd_range_kv(body, 0, &kv)) {
		leader->text = kv.value;
		leader->text_revision = kv.mod_revision;
		kv.value = NULL;
		etcd_kv_free(&kv);
	}
	if (!leader->text)
		leader->text = calloc(1, 1);
}

/* Returns true if the text of the next step is there; otherwise asks for it. */
static bool has_text(struct leader *leader, char *reason, enum rollout_verdict *verdict)
{
	const struct rollout *rollout = &leader->rollout;
	char key[ROLLOUT_KEY_MAX];

	if (leader->text && leader->text_of == leader->keys[LEADER_ROLLOUT].revision) {
		if (*leader->text && leader->text_revision == rollout->plan_revision)
			return true;
		snprintf(reason, ROLLOUT_REASON_MAX, "somebody changed or deleted the text of step %" PRIu32 " in etcd",
			rollout->step + 1);
		*verdict = ROLLOUT_STOP;
		return true;
	}
	leader->text_of = leader->keys[LEADER_ROLLOUT].revision;
	leader->asking = true;
	etcd_request(leader->etcd, ETCD_RANGE,
		etcd_range(rollout_key(leader->prefix, key, "rollouts/%s/%" PRIu32, rollout->id, rollout->step + 1),
			false, 1),
		end_read, leader);
	return false;
}

static void look(struct leader *leader)
{
	const struct rollout *rollout = &leader->rollout;
	struct rollout_view view = {.directors = leader->directors,
		.count = leader->director_count,
		.truncated = leader->left_out || etcd_mirror_truncated(leader->keys[LEADER_DIRECTORS].mirror),
		.table_revision = leader->keys[LEADER_TABLE].revision,
		.drained = leader->drained,
		.drain = *leader->drain ? leader->drain : NULL,
		.phase_ms = rollout_clock_ms(&leader->clock, rollout, leader->now_ms)};
	enum rollout_verdict verdict = rollout_judge(rollout, &view, leader->state.reason);

	if (verdict != ROLLOUT_STOP)
		leader->bad_ms = 0;
	else if (!leader->bad_ms)
		leader->bad_ms = leader->now_ms;
	if (verdict == ROLLOUT_STOP)
		leader->calm_ms = leader->now_ms + 1000 * ROLLOUT_SETTLE_S;
	if (verdict == ROLLOUT_STOP && leader->now_ms - leader->bad_ms < STEADY_MS)
		return;
	if ((verdict == ROLLOUT_ADVANCE || verdict == ROLLOUT_FINISH) && leader->now_ms < leader->calm_ms)
		return;
	/* Operators read in the document what the proxies say. */
	if (verdict == ROLLOUT_KEEP && (!view.drain || strstr(rollout->reason, view.drain)) &&
		view.phase_ms / 1000 < (uint64_t)rollout->counted_s + ROLLOUT_SAVE_S)
		return;
	if (verdict != ROLLOUT_ADVANCE || has_text(leader, leader->state.reason, &verdict))
		carry_out(leader, verdict, &view);
}

/* Returns true if the leader sees all that it judges. One that stays blind lets another one try. */
static bool sees_all(struct leader *leader)
{
	bool sees = leader_watch(leader, LEADER_TABLE) && leader_watch(leader, LEADER_DIRECTORS);

	for (unsigned i = 0; i < LEADER_KEYS; i++) {
		const char *error = leader->keys[i].mirror ? etcd_mirror_error(leader->keys[i].mirror) : "";

		sees &= leader_sees(leader, i);
		if (*error && strcmp(error, leader->state.error) != 0)
			log_error("roll-out %s: %s", leader->rollout.id, strcpy(leader->state.error, error));
	}
	if (sees)
		leader->blind_ms = 0;
	else if (!leader->blind_ms)
		leader->blind_ms = leader->now_ms;
	else if (leader->now_ms - leader->blind_ms > BLIND_MS) {
		log_warning("roll-out %s: does not see etcd: another glb-fleet shall lead", leader->rollout.id);
		resign(leader);
		leader->not_before_ms = leader->now_ms + 1000 * LEASE_S;
	}
	return sees;
}

int leader_step(struct leader *leader, uint64_t now_ms)
{
	const struct rollout *rollout = &leader->rollout;

	leader->now_ms = now_ms;
	leader->state.leads = leads(leader);
	leader->state.rollout = *rollout->id ? rollout : NULL;
	if (!*rollout->id || rollout->state != ROLLOUT_RUNNING) {
		if (leader->asking)
			return BUSY_MS;
		resign(leader);
		leader_unwatch(leader, LEADER_NAME);
		leader->state.name[0] = leader->state.reason[0] = '\0';
		return leader_watch(leader, LEADER_ROLLOUT) ? IDLE_MS : RETRY_MS;
	}
	if (!leader_watch(leader, LEADER_NAME) || leader->asking || now_ms < leader->not_before_ms)
		return BUSY_MS;
	if (!leader->state.leads)
		contest(leader);
	else if (sees_all(leader) && leader->keys[LEADER_ROLLOUT].revision != leader->replaced) {
		leader_step_drain(leader);
		look(leader);
	}
	return BUSY_MS;
}

struct leader *leader_open(struct etcd *etcd, const char *prefix, const char *name)
{
	struct leader *leader = calloc(1, sizeof(*leader));

	if (!leader)
		return NULL;
	leader->etcd = etcd;
	leader->prefix = prefix;
	leader->name = name;
	srandom((unsigned)getpid() ^ (unsigned)time(NULL));
	return leader;
}

bool leader_knows_rollout(const struct leader *leader)
{
	return leader_sees(leader, LEADER_ROLLOUT);
}

const struct leader_state *leader_state(const struct leader *leader)
{
	return &leader->state;
}

void leader_close(struct leader *leader)
{
	for (unsigned waited_ms = 0; leader->asking && waited_ms < CLOSE_MS; waited_ms += 50)
		etcd_run(leader->etcd, -1, 50);
	resign(leader);
	for (unsigned i = 0; i < LEADER_KEYS; i++)
		leader_unwatch(leader, i);
	rollout_free(&leader->rollout);
	if (!leader->asking) /* else its callback may still come */
		free(leader);
}
