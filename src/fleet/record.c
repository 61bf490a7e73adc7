/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file/file.h"
#include "common/siphash.h"
#include "common/utc.h"
#include "fleet/fleet.h"
#include "program/log.h"
#include "program/member.h"
#include "table/file/json/json_text.h"

#define RETRY_MS 1000u
#define TEXT_MS  10000u /* between two records that differ in reasons only: etcd keeps the history of a key */

/* Tells two agents with one name apart, and is the same after a restart: the host, and the agent's own file. */
static void make_instance(const struct fleet *fleet, char instance[TEXT_HEX64])
{
	static const uint8_t key[SIPHASH_KEY_SIZE] = "GLB fleet agent";
	char text[512], machine[33] = "", host[65] = "";
	size_t size;

	file_read_head("/etc/machine-id", machine, sizeof(machine) - 1, &size);
	gethostname(host, sizeof(host) - 1);
	snprintf(text, sizeof(text), "%s %s %s", machine, host, fleet->conf.status_file);
	text_hex64(siphash(key, text, strlen(text)), instance);
}

/* Returns true if this agent has written the record, or an earlier run of it. A copy of this host that was started
 * later keeps the name. */
static bool is_ours(const struct fleet *fleet, const json_t *other)
{
	char started[UTC_TEXT_MAX];

	return strcmp(member_text(other, "instance"), fleet->record.instance) == 0 &&
	       strcmp(member_text(other, "started"), utc_format((int64_t)fleet->started_s, started)) <= 0;
}

/* The key has changed in etcd: by this agent, by another one, or because the lease has ended. */
static void on_changed(void *data, const struct etcd_kv *kv)
{
	struct fleet *fleet = data;
	struct record *record = &fleet->record;
	json_t *other = kv->value ? json_loads(kv->value, 0, NULL) : NULL;
	bool ours = !kv->value || is_ours(fleet, other);
	char conflict[sizeof(record->conflict)] = "";

	if (!ours)
		snprintf(conflict, sizeof(conflict),
			"another glb-fleet has the name %s: instance %.16s, started %.24s; give each director its own `name`",
			fleet->conf.name, member_text(other, "instance"), member_text(other, "started"));
	text_mend(conflict);
	if (*conflict && strcmp(conflict, record->conflict) != 0)
		log_error("%s; this one publishes nothing as long as that one does", conflict);
	else if (!*conflict && record->conflict[0])
		log_notice("no other glb-fleet has the name %s any more", fleet->conf.name);
	strcpy(record->conflict, conflict);
	record->revision = kv->value || kv->fault ? kv->mod_revision : 0;
	record->lease = kv->lease;
	if (!record->revision) {
		free(record->published);
		record->published = NULL;
	}
	json_decref(other);
}

static void on_ready(void *data)
{
	struct fleet *fleet = data;

	fleet->record.known = true;
}

void record_open(struct fleet *fleet)
{
	static const struct etcd_mirror_calls calls = {.changed = on_changed, .ready = on_ready};
	struct record *record = &fleet->record;

	make_instance(fleet, record->instance);
	record->changed_s = (int64_t)time(NULL);
	snprintf(record->key, sizeof(record->key), "%s/directors/%s", fleet->conf.prefix, fleet->conf.name);
	record->mirror = etcd_mirror_open(fleet->etcd, record->key, false, 1, &calls, fleet);
}

void record_close(struct fleet *fleet)
{
	if (fleet->record.mirror)
		etcd_mirror_close(fleet->record.mirror);
	free(fleet->record.published);
	free(fleet->record.sent);
}

static json_t *describe_refusal(const struct desired *desired)
{
	if (!desired->refused_revision)
		return json_null();
	return json_pack(
		"{s:I, s:o}", "revision", (json_int_t)desired->refused_revision, "reason", json_text(desired->refusal));
}

/* Why the director should get no packets, or may differ from the fleet soon. */
static json_t *describe_reasons(const struct fleet *fleet)
{
	json_t *reasons = fleet->look.reasons ? json_copy(fleet->look.reasons) : json_array();

	if (!fleet->look.answers)
		json_array_append_new(reasons, json_string("the director does not tell which table it uses"));
	if (fleet->desired.error[0])
		json_array_append_new(reasons, json_text(fleet->desired.error));
	if (fleet->desired.gone)
		json_array_append_new(reasons, json_string("the key of the table does not exist in etcd"));
	if (*etcd_mirror_error(fleet->table))
		json_array_append_new(reasons, json_text(etcd_mirror_error(fleet->table)));
	if (*leader_state(fleet->leader)->error)
		json_array_append_new(reasons, json_text(leader_state(fleet->leader)->error));
	return reasons;
}

json_t *record_describe(const struct fleet *fleet)
{
	const struct look *look = &fleet->look;
	char started[UTC_TEXT_MAX];

	return json_pack("{s:s, s:s, s:s, s:s, s:{s:I, s:s, s:s, s:s}, s:I, s:o, s:b, s:o}", "name", fleet->conf.name,
		"version", GLB_VERSION, "started", utc_format((int64_t)fleet->started_s, started), "instance",
		fleet->record.instance, "table", "revision", (json_int_t)fleet_used_revision(fleet), "fingerprint",
		look->fingerprint, "digest", look->digest, "first_hops", look->first_hops, "seen",
		(json_int_t)fleet->desired.revision, "refused", describe_refusal(&fleet->desired), "healthy",
		look->answers && strcmp(look->state, "ok") == 0, "reasons", describe_reasons(fleet));
}

static void on_reply(void *data, enum etcd_result result, const json_t *body)
{
	struct fleet *fleet = data;
	struct record *record = &fleet->record;

	if (result == ETCD_DONE && etcd_txn_succeeded(body)) {
		free(record->published);
		record->published = record->sent;
		record->revision = etcd_state(fleet->etcd)->revision; /* of this reply, which is the newest one */
		record->lease = record->sent_lease;
	} else {
		if (result == ETCD_DENIED || result == ETCD_REFUSED)
			log_limited(LOG_LEVEL_ERROR, "%s is not published: %s", record->key,
				etcd_state(fleet->etcd)->error);
		free(record->sent); /* the mirror will tell who has changed the key */
		record->next_ms = clock_now_ms() + RETRY_MS;
	}
	record->sent = NULL;
}

/* Reasons may have counters, which change all the time. */
static bool differs_in_reasons_only(const char *published, const json_t *json)
{
	json_t *old = json_loads(published, 0, NULL), *now = json_copy((json_t *)json);
	bool same;

	json_object_del(old, "reasons");
	json_object_del(now, "reasons");
	same = json_equal(old, now);
	json_decref(old);
	json_decref(now);
	return same;
}

/* Returns true if the record must be written now. */
static bool is_due(struct record *record, const json_t *json, const char *text, uint64_t lease)
{
	bool differs = record->published && strcmp(text, record->published) != 0;

	if (differs && record->lease == lease && clock_now_ms() < record->text_ms &&
		differs_in_reasons_only(record->published, json))
		return false;
	if (differs)
		record->changed_s = (int64_t)time(NULL);
	return differs || !record->published || record->lease != lease;
}

void record_step(struct fleet *fleet)
{
	struct record *record = &fleet->record;
	uint64_t lease = etcd_lease_id(fleet->lease);
	char *text, changed[UTC_TEXT_MAX];
	json_t *json;

	if (!lease && etcd_state(fleet->etcd)->connected && etcd_state(fleet->etcd)->error[0])
		log_limited(LOG_LEVEL_ERROR, "%s is not published, because etcd gives no lease: %s", record->key,
			etcd_state(fleet->etcd)->error);
	/* Before the first look, a record would say that the director is unhealthy. */
	if (!fleet->looked || !record->known || record->sent || record->conflict[0] || !lease ||
		clock_now_ms() < record->next_ms)
		return;
	json = record_describe(fleet);
	text = json_dumps(json, JSON_COMPACT);
	if (text && is_due(record, json, text, lease)) {
		record->text_ms = clock_now_ms() + TEXT_MS;
		record->sent = text;
		record->sent_lease = lease;
		json_object_set_new(json, "changed", json_string(utc_format(record->changed_s, changed)));
		text = json_dumps(json, JSON_COMPACT);
		etcd_request(fleet->etcd, ETCD_TXN,
			etcd_txn(json_pack("[o]", etcd_compare_revision(record->key, record->revision)),
				json_pack("[o]", etcd_put(record->key, text ? text : record->sent, lease))),
			on_reply, fleet);
	}
	free(text);
	json_decref(json);
}
