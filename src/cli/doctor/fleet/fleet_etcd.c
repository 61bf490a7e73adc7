/* SPDX-License-Identifier: BSD-3-Clause */
/* What etcd has about the fleet: the table, the records of the directors, and the roll-out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/fleet/fleet.h"
#include "common/text.h"
#include "fleet/keys.h"
#include "table/file/json/table_json.h"

#define REVISION "%" PRIu64

static const struct finding unread = {FINDINGS_FAIL, NULL,
	"etcd cannot be read, so nothing is known about its directors; they go on with the tables that they have: {1}"};
static const struct finding too_many = {FINDINGS_WARN, NULL,
	"there are more than " TEXT_OF(
		ROLLOUT_MAX_DIRECTORS) " keys, so every roll-out stops, and some directors were not looked at: delete those that are not yours"};
static const struct finding nobody = {FINDINGS_FAIL, NULL,
	"no director has a record, so no glb-fleet with this prefix reaches etcd: run glb-fleet status on a director"};
static const struct finding no_table = {FINDINGS_FAIL, NULL,
	"does not exist, so a new director gets no table: put the table that the directors use, as `etcdctl put {0} < TABLE.json` does"};
static const struct finding no_text = {FINDINGS_FAIL, NULL,
	"is not text, or has more than 8 MiB, so all directors refuse it: put the table that the directors use"};
static const struct finding no_record = {FINDINGS_WARN, NULL,
	"the value of its key in etcd is no record, so every roll-out stops: {1}: delete the key, or upgrade its glb-fleet"};
static const struct finding vanished = {FINDINGS_WARN, NULL,
	"had a record in roll-out {1}, and has none now, so its glb-fleet does not run or does not reach etcd, unless the director was removed: run glb-fleet status there"};
static const struct finding refused = {
	FINDINGS_FAIL, NULL, "refuses the table in etcd, revision {1}: {2}: correct the table, or mend the director"};
static const struct finding other_table = {FINDINGS_FAIL, NULL,
	"uses the table of revision {1}, etcd has revision {2}, and no roll-out runs; its record has not changed since {3}: run glb-fleet status there"};
static const struct finding foreign_table = {FINDINGS_FAIL, NULL,
	"uses a table that is not from etcd, which has revision {1}, and no roll-out runs; its record has not changed since {2}: run glb-fleet status there"};
static const struct finding other_hops = {FINDINGS_FAIL, NULL,
	"uses the table in etcd, but the digest of its first hops is {1}, and that of {2} of {3} directors {4}, so flows that move to or from it can break: compare what glb-healthcheck status prints there"};
static const struct finding unknown_rollout = {FINDINGS_WARN, NULL,
	"this version cannot read the roll-out, so it may neither advance nor be replaced: {1}: use the version that wrote it, or delete the key"};
static const struct finding stopped = {FINDINGS_FAIL, NULL,
	"is stopped in step {1} of {2}: {3}: mend that and run `glb-director-cli rollout resume`, or run `glb-director-cli rollout abort`"};
static const struct finding paused = {
	FINDINGS_WARN, NULL, "is paused in step {1} of {2}: {3}: `glb-director-cli rollout resume` goes on"};
static const struct finding no_leader = {FINDINGS_WARN, NULL,
	"runs, but no glb-fleet leads it: if this stays so for 20 s, see in the logs of glb-fleet whether one may write {1}"};

void fleet_etcd(void *subject)
{
	struct fleet *fleet = subject;
	struct session *session = &fleet->session;
	char key[ROLLOUT_KEY_MAX];

	if (!fleet->etcd_read) {
		findings_add(&unread, "", etcd_state(session->etcd)->error);
		return;
	}
	for (size_t i = 0; i < session->director_count; i++)
		if (!*session->directors[i].fault)
			fleet->records[fleet->record_count++] = (struct fleet_member){
				.name = session->directors[i].name, .record = &session->directors[i]};
	rollout_key(session->conf.prefix, key, "directors/");
	if (session->truncated)
		findings_add(&too_many, key);
	else if (!fleet->record_count)
		findings_add(&nobody, key);
	else
		findings_ok(
			session->conf.prefix, "%zu director%s", fleet->record_count, text_plural(fleet->record_count));
}

void fleet_table(void *subject)
{
	const struct session *session = &((struct fleet *)subject)->session;
	char key[ROLLOUT_KEY_MAX], *text;
	struct faults faults = {0};
	struct table_set set;

	rollout_key(session->conf.prefix, key, "table");
	if (!session->table) {
		findings_add(session->table_revision ? &no_text : &no_table, key);
		return;
	}
	text = keys_expand(session->table, session->conf.keys_dir, &faults);
	if (text && table_json_parse(text, strlen(text), &set, &faults) == 0) {
		findings_ok(key, "revision " REVISION, session->table_revision);
		table_set_free(&set);
	}
	faults.file = key;
	findings_add_faults(&faults, FAULTS_ERRORS, NULL);
	faults_clear(&faults);
	free(text);
}

static bool has_key(const struct session *session, const char *name)
{
	for (size_t i = 0; i < session->director_count; i++)
		if (strcmp(session->directors[i].name, name) == 0)
			return true;
	return false;
}

void fleet_records(void *subject)
{
	const struct session *session = &((struct fleet *)subject)->session;
	const struct rollout *rollout = &session->rollout;

	for (size_t i = 0; i < session->director_count; i++)
		if (*session->directors[i].fault)
			findings_add(&no_record, session->directors[i].name, session->directors[i].fault);
	for (size_t i = 0; i < rollout->seen_count && !session->truncated; i++)
		if (!rollout_is_without(rollout, rollout->seen[i].name) && !has_key(session, rollout->seen[i].name))
			findings_add(&vanished, rollout->seen[i].name, rollout->id);
	if (findings_none())
		findings_ok("", "all directors that are known have one");
}

/* Returns true if the director uses the table in etcd; otherwise adds what is wrong, if anything is. */
static bool uses_table(const struct session *session, const struct rollout_director *director)
{
	const struct rollout *rollout = &session->rollout;
	const char *revision = findings_value(REVISION, session->table_revision);
	bool active = *rollout->id && rollout_is_active(rollout);

	if (active && rollout_is_without(rollout, director->name))
		findings_ok(director->name, "not needed: the roll-out goes on without it");
	else if (!session->table_revision)
		findings_ok(director->name, "not known: etcd has no table");
	else if (director->refused == session->table_revision)
		findings_add(&refused, director->name, revision, director->refusal);
	else if (director->revision == session->table_revision)
		return true;
	else if (active && rollout->state == ROLLOUT_RUNNING)
		findings_ok(director->name, "not known: a roll-out runs");
	else if (director->revision)
		findings_add(&other_table, director->name, findings_value(REVISION, director->revision), revision,
			director->changed);
	else if (*director->fingerprint)
		findings_add(&foreign_table, director->name, revision, director->changed);
	else
		findings_ok(director->name, "not known: it does not tell its table");
	return false;
}

void fleet_uses(void *subject)
{
	static struct fleet_member users[ROLLOUT_MAX_DIRECTORS];
	const struct fleet *fleet = subject;
	char most[SAMPLES_LABEL_MAX];
	size_t count = 0;

	for (size_t i = 0; i < fleet->record_count; i++)
		if (uses_table(&fleet->session, fleet->records[i].record) && *fleet->records[i].record->first_hops)
			users[count++] = fleet->records[i];
	if (fleet_compare(users, count, "", "first_hops", &other_hops, most))
		findings_ok("", "%zu director%s: the table in etcd, first hops %s", count, text_plural(count), most);
}

void fleet_rollout(void *subject)
{
	const struct session *session = &((struct fleet *)subject)->session;
	const struct rollout *rollout = &session->rollout;
	const char *step = findings_value("%" PRIu32, rollout->step),
		   *last = findings_value("%" PRIu32, rollout->count - 1);
	char key[ROLLOUT_KEY_MAX];

	if (*session->fault)
		findings_add(&unknown_rollout, rollout_key(session->conf.prefix, key, "rollout"), session->fault);
	else if (!*rollout->id || !rollout_is_active(rollout))
		findings_ok("", "none is active");
	else if (rollout->state == ROLLOUT_STOPPED)
		findings_add(&stopped, rollout->id, step, last, rollout->reason);
	else if (rollout->state == ROLLOUT_PAUSED)
		findings_add(&paused, rollout->id, step, last, rollout->reason);
	else if (!session->leader)
		findings_add(&no_leader, rollout->id, rollout_key(session->conf.prefix, key, "leader"));
	else
		findings_ok(rollout->id, "running, step %s of %s, advanced by %.64s", step, last, session->leader);
}
