/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/desired.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/file/file.h"
#include "program/log.h"
#include "program/member.h"

#define LOOK_MS     1000u /* between two looks at the table's file */
#define CHILD_MS    60000u /* for what a child process does beside the reload */
#define SAVE_MS     5000u
#define BACKOFF_MAX 6u /* 64 s */

void desired_open(struct desired *desired, const struct fleet_conf *conf)
{
	*desired = (struct desired){.conf = conf};
	state_read(conf->state_file, &desired->state);
}

void desired_close(struct desired *desired)
{
	if (desired->unsaved)
		state_write(desired->conf->state_file, &desired->state);
	free(desired->text);
	free(desired->good);
	free(desired->applying);
}

static void save(struct desired *desired)
{
	desired->unsaved = desired->changed = true;
}

static void run_save(const void *data)
{
	const struct desired *desired = data;

	job_finish(json_pack("{s:b}", "saved", state_write(desired->conf->state_file, &desired->state)));
}

bool desired_save(struct desired *desired, struct job *job)
{
	if (!desired->unsaved || clock_now_ms() < desired->save_ms)
		return false;
	desired->save_ms = clock_now_ms() + SAVE_MS;
	desired->changed = false;
	return job_start(job, run_save, desired, SAVE_MS) == 0;
}

void desired_saved(struct desired *desired, const json_t *result)
{
	bool saved = json_is_true(json_object_get(result, "saved"));

	desired->save_ms = saved ? 0 : clock_now_ms() + SAVE_MS; /* what else there is to do has its turn first */
	desired->unsaved = !saved || desired->changed;
}

static void refuse(struct desired *desired, uint64_t revision, const char *reason)
{
	desired->refused_revision = revision;
	desired->numbers.refused++;
	snprintf(desired->refusal, sizeof(desired->refusal), "%s", reason);
	text_mend(desired->refusal);
	log_error("revision %" PRIu64 " of the table is refused, the last good one stays in use: %s", revision,
		desired->refusal);
}

static void allow(struct desired *desired)
{
	desired->refused_revision = 0;
	desired->refusal[0] = '\0';
}

/* Makes the newest value the one that is tried. */
static void want(struct desired *desired)
{
	desired->unconfirmed = false;
	desired->waits = true;
	desired->failures = desired->repairs = 0;
	desired->next_ms = 0;
}

/* Remembers which value was looked at, so that an older one is noticed, also after a restart. */
static void note_newest(struct desired *desired, uint64_t cluster, uint64_t value)
{
	struct state *state = &desired->state;

	if (state->cluster == cluster && state->newest == desired->revision && state->value == value)
		return;
	state->cluster = cluster;
	state->newest = desired->revision;
	state->value = value;
	save(desired);
}

/* Returns true if etcd does not have the history that the agent has seen, and says how in `why`. */
static bool went_back(const struct desired *desired, uint64_t cluster, uint64_t value, char *why, size_t size)
{
	const struct state *state = &desired->state;
	static const char accept[] =
		"was etcd restored from a backup? Compare the table in etcd with the one in use, then confirm it with: glb-fleet accept";

	if (state->cluster && cluster && cluster != state->cluster)
		snprintf(why, size,
			"etcd has cluster id %016" PRIx64 ", and revision %" PRIu64 " came from %016" PRIx64 ": %s",
			cluster, state->newest, state->cluster, accept);
	else if (desired->revision < state->newest)
		snprintf(why, size, "it is older than revision %" PRIu64 ", which this director has seen: %s",
			state->newest, accept);
	else if (desired->revision == state->newest && value != state->value)
		snprintf(why, size, "it is another text than this director has seen with the same revision: %s", accept);
	else
		return false;
	return true;
}

static void take_value(struct desired *desired, const struct etcd_kv *kv, uint64_t cluster)
{
	uint64_t value = apply_hash(kv->value, strlen(kv->value));
	char why[512];

	free(desired->text);
	desired->text = strdup(kv->value);
	desired->returns = desired->state.applied > desired->revision && desired->state.newest == desired->revision &&
			   desired->state.value == value;
	if (went_back(desired, cluster, value, why, sizeof(why))) {
		if (value != desired->state.applied_value) {
			desired->unconfirmed = true;
			desired->waits = false;
			refuse(desired, desired->revision, why);
			return;
		}
		log_notice("etcd went back to revision %" PRIu64 ", which has the table that this director uses",
			desired->revision);
		desired->state.applied = desired->revision;
	}
	note_newest(desired, cluster, value);
	allow(desired);
	want(desired);
}

void desired_take(struct desired *desired, const struct etcd_kv *kv, uint64_t cluster)
{
	bool was_gone = desired->gone;

	desired->gone = !kv->value && !kv->fault;
	if (desired->gone || kv->fault) {
		free(desired->text);
		desired->text = NULL;
		desired->waits = desired->unconfirmed = false;
	}
	if (desired->gone) {
		if (!was_gone)
			log_error("%s/table does not exist in etcd; the last good table stays in use",
				desired->conf->prefix);
		allow(desired);
		return;
	}
	desired->revision = kv->mod_revision;
	if (kv->fault)
		refuse(desired, kv->mod_revision, kv->fault);
	else
		take_value(desired, kv, cluster);
}

void desired_try(struct desired *desired, const char *text, uint64_t revision)
{
	free(desired->text);
	desired->text = text ? strdup(text) : NULL;
	desired->revision = revision;
	desired->gone = desired->returns = desired->waits = false;
	if (desired->text) {
		allow(desired);
		want(desired);
	} else {
		refuse(desired, revision, "somebody changed or deleted the text of the canary's step in etcd");
	}
}

void desired_accept(struct desired *desired, uint64_t cluster)
{
	if (!desired->unconfirmed || !desired->text) {
		log_notice("glb-fleet accept: nothing waits for a confirmation");
		return;
	}
	log_notice("revision %" PRIu64 " of the table was confirmed by glb-fleet accept", desired->revision);
	desired->state.newest = 0;
	note_newest(desired, cluster, apply_hash(desired->text, strlen(desired->text)));
	allow(desired);
	want(desired);
}

void desired_retry(struct desired *desired)
{
	if (desired->text && !desired->unconfirmed)
		want(desired);
}

/* Returns true if the table's file has what the agent has written. */
static bool is_untouched(struct desired *desired)
{
	struct stat status;
	bool same;

	file_look(desired->conf->table, &status);
	if (status.st_ino && file_is_unchanged(&status, &desired->seen))
		return true;
	same = apply_has(desired->conf->table, desired->state.written);
	if (same)
		desired->seen = status;
	return same;
}

/* Somebody else has written to the table's file, or removed it. */
static void repair(struct desired *desired)
{
	uint64_t now = clock_now_ms();

	if (now < desired->look_ms || !desired->good || desired->waits)
		return;
	desired->look_ms = now + LOOK_MS;
	if (is_untouched(desired))
		return;
	log_warning("%s was changed or removed by another program, so glb-fleet writes it again", desired->conf->table);
	free(desired->applying);
	desired->applying = strdup(desired->good);
	desired->applying_revision = desired->state.applied;
	desired->repairs = desired->repairs < BACKOFF_MAX ? desired->repairs + 1 : BACKOFF_MAX;
	desired->look_ms = now + (1000u << desired->repairs); /* two who both write do not do so without end */
}

bool desired_start(struct desired *desired, struct job *job)
{
	int error;

	if (desired->waits && desired->text && clock_now_ms() >= desired->next_ms) {
		desired->waits = false;
		free(desired->applying);
		desired->applying = strdup(desired->text);
		desired->applying_revision = desired->revision;
	} else {
		repair(desired);
	}
	if (!desired->applying)
		return false;
	desired->apply = (struct apply){
		.conf = desired->conf,
		.text = desired->applying,
		.known = desired->returns ||
			 apply_hash(desired->applying, strlen(desired->applying)) == desired->state.applied_value,
		.written = desired->state.written,
	};
	error = job_start(job, apply_run, &desired->apply, desired->conf->reload_timeout_ms + CHILD_MS);
	if (!error)
		return true;
	snprintf(job->note, sizeof(job->note), "cannot start a process: %s", strerror(-error));
	desired_finish(desired, job, NULL);
	return false;
}

/* Tries the value again later, unless there is a newer one. */
static void fail(struct desired *desired, const char *reason, const char *detail)
{
	unsigned shift = desired->failures < BACKOFF_MAX ? desired->failures : BACKOFF_MAX;

	desired->failures++;
	desired->numbers.failed++;
	snprintf(desired->error, sizeof(desired->error), "%s%s%s", reason, *reason && *detail ? ": " : "", detail);
	text_mend(desired->error);
	log_error("revision %" PRIu64 " of the table is not in use (%u in a row), next attempt in %u s: %s",
		desired->applying_revision, desired->failures, 1u << shift, desired->error);
	if (desired->waits)
		return;
	desired->next_ms = clock_now_ms() + (UINT64_C(1000) << shift);
	desired->waits = desired->text && !desired->unconfirmed && desired->applying_revision == desired->revision;
}

static void succeed(struct desired *desired, const json_t *result)
{
	struct state *state = &desired->state;

	if (state->applied != desired->applying_revision || desired->error[0])
		log_notice("revision %" PRIu64 " of the table is in %s, fingerprint %s", desired->applying_revision,
			desired->conf->table, member_text(result, "fingerprint"));
	state->applied = desired->applying_revision;
	state->applied_value = apply_hash(desired->applying, strlen(desired->applying));
	snprintf(state->digest, TEXT_HEX64, "%s", member_text(result, "digest"));
	desired->numbers.applied++;
	desired->failures = 0;
	desired->error[0] = '\0';
	free(desired->good);
	desired->good = desired->applying;
	desired->applying = NULL;
}

void desired_finish(struct desired *desired, const struct job *job, const json_t *result)
{
	const char *word = member_text(result, "result"), *reason = member_text(result, "reason");
	uint64_t written = strtoull(member_text(result, "written"), NULL, 16);

	if (written)
		desired->state.written = written;
	desired->numbers.edited += json_is_true(json_object_get(result, "edited"));
	if (strcmp(word, "applied") == 0)
		succeed(desired, result);
	else if (strcmp(word, "refused") == 0 && desired->applying_revision == desired->revision)
		refuse(desired, desired->applying_revision, reason);
	else if (strcmp(word, "refused") != 0)
		fail(desired, reason, job->note);
	snprintf(desired->tried, TEXT_HEX64, "%s", strcmp(word, "failed") == 0 ? member_text(result, "digest") : "");
	desired->tried_revision = desired->applying_revision;
	free(desired->applying);
	desired->applying = NULL;
	save(desired);
}
