/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A read, then a watch from the revision behind it. A watch can be silent because nothing changes, or because a member
 * or the network hangs. So while it is open, the revisions of the keys are compared at intervals; this also finds a
 * lost event.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/container_of.h"
#include "common/siphash.h"
#include "etcd/etcd_core.h"

#define COMPARE_MS       5000
#define COMPARE_AGAIN_MS 1000
#define RETRY_MS         200
#define RETRY_MAX_MS     5000
#define RETRY_LARGE_MS   10000 /* after 32 MB that were read in vain */

struct etcd_mirror {
	struct etcd *etcd;
	struct etcd_task task; /* due: the next read or comparison, or the watch is not open in time */
	char *key;
	bool prefix;
	size_t max;
	const struct etcd_mirror_calls *calls;
	void *data;
	json_t *known; /* key: [mod_revision, digest]; a restored etcd can give the same revision to another value */
	bool truncated;
	struct etcd_call *call, *watch; /* a read or a comparison, and the watch; NULL: none */
	bool open; /* etcd has confirmed the watch */
	bool differs; /* the last comparison found a difference */
	unsigned retry_ms;
	char error[ETCD_ERROR_MAX];
};

static bool is_mine(const struct etcd_mirror *mirror, const struct etcd_kv *kv)
{
	return kv->key &&
	       (mirror->prefix ? strncmp(kv->key, mirror->key, strlen(mirror->key)) : strcmp(kv->key, mirror->key)) == 0;
}

static uint64_t revision_of(const json_t *entry)
{
	return (uint64_t)json_integer_value(json_array_get(entry, 0));
}

/* Takes a pair of a read, or of a watch, whose events may be older than the read. */
static void take(struct etcd_mirror *mirror, const struct etcd_kv *kv, bool read)
{
	static const uint8_t key[SIPHASH_KEY_SIZE];
	json_t *old = json_object_get(mirror->known, kv->key), *now;
	bool is_new = !old || revision_of(old) < kv->mod_revision;

	if (!old && json_object_size(mirror->known) >= mirror->max) {
		mirror->truncated = true;
		return;
	}
	now = json_pack("[I, I]", (json_int_t)kv->mod_revision,
		(json_int_t)(kv->value ? siphash(key, kv->value, strlen(kv->value)) : 0));
	is_new |= read && !json_equal(old, now);
	if (is_new)
		json_object_set(mirror->known, kv->key, now);
	json_decref(now);
	if (is_new)
		mirror->calls->changed(mirror->data, kv);
}

static void drop(struct etcd_mirror *mirror, const char *key, uint64_t revision)
{
	mirror->calls->changed(mirror->data, &(struct etcd_kv){.key = (char *)key, .mod_revision = revision});
	json_object_del(mirror->known, key);
}

/* Drops the keys that a read does not have. */
static void drop_missing(struct etcd_mirror *mirror, const json_t *body, uint64_t revision)
{
	json_t *missing = json_copy(mirror->known), *entry;
	struct etcd_kv kv;
	const char *key;

	for (size_t i = 0; etcd_range_kv(body, i, &kv); i++, etcd_kv_free(&kv))
		if (kv.key)
			json_object_del(missing, kv.key);
	json_object_foreach(missing, key, entry) drop(mirror, key, revision);
	json_decref(missing);
}

/* Reads again soon, and later each time it fails. Agents that lost the same member do not come back at once. */
static void retry(struct etcd_mirror *mirror)
{
	etcd_call_cancel(mirror->call);
	etcd_call_cancel(mirror->watch);
	mirror->call = mirror->watch = NULL;
	mirror->open = mirror->differs = false;
	mirror->task.due_ms = clock_now_ms() + mirror->retry_ms / 2 + clock_now_us() % mirror->retry_ms;
	mirror->retry_ms = mirror->retry_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : mirror->retry_ms * 2;
}

static void take_event(struct etcd_mirror *mirror, const json_t *event)
{
	const char *type = json_string_value(json_object_get(event, "type"));
	bool deleted = type && strcmp(type, "DELETE") == 0;
	struct etcd_kv kv;

	if (etcd_kv_decode(json_object_get(event, "kv"), deleted, &kv) && is_mine(mirror, &kv)) {
		const json_t *known = json_object_get(mirror->known, kv.key);

		if (!deleted)
			take(mirror, &kv, false);
		else if (known && revision_of(known) < kv.mod_revision)
			drop(mirror, kv.key, kv.mod_revision);
	}
	etcd_kv_free(&kv);
}

static void take_line(void *data, const json_t *line)
{
	struct etcd_mirror *mirror = data;
	const char *reason = json_string_value(json_object_get(line, "cancel_reason"));
	const json_t *event;
	size_t i;

	if (json_is_true(json_object_get(line, "canceled"))) {
		etcd_say(mirror->etcd, etcd_call_endpoint(mirror->watch), "etcd ended the watch: %.200s",
			reason ? reason : "its revision was compacted");
		retry(mirror);
		return;
	}
	if (json_is_true(json_object_get(line, "created")) && !mirror->open) {
		mirror->open = true;
		mirror->retry_ms = RETRY_MS;
		mirror->task.due_ms = clock_now_ms() + COMPARE_MS;
	}
	json_array_foreach(json_object_get(line, "events"), i, event) take_event(mirror, event);
}

static void watch_ended(void *data, enum etcd_result result, const json_t *body)
{
	struct etcd_mirror *mirror = data;

	(void)result;
	(void)body;
	mirror->watch = NULL;
	retry(mirror);
}

static void open_watch(struct etcd_mirror *mirror, uint64_t revision)
{
	json_t *create = etcd_kv_keys(mirror->key, mirror->prefix);

	json_object_set_new(create, "start_revision", json_integer((json_int_t)revision));
	json_object_set_new(create, "progress_notify", json_true());
	json_object_set_new(create, "fragment", json_true());
	mirror->watch = etcd_call_start(mirror->etcd, "/v3/watch", json_pack("{s:o}", "create_request", create),
		take_line, watch_ended, mirror);
	mirror->task.due_ms = clock_now_ms() + mirror->etcd->conf->timeout_ms;
	if (!mirror->watch)
		retry(mirror);
}

static void take_read(void *data, enum etcd_result result, const json_t *body)
{
	struct etcd_mirror *mirror = data;
	uint64_t revision = etcd_number(json_object_get(body, "header"), "revision");
	struct etcd_kv kv;

	mirror->call = NULL;
	if (result == ETCD_TOO_LARGE) {
		snprintf(mirror->error, sizeof(mirror->error),
			"etcd has more than 32 MB in the %s %s, which is not read: delete or replace what is too large there",
			mirror->prefix ? "keys that begin with" : "key", mirror->key);
		mirror->retry_ms = RETRY_LARGE_MS;
	} else if (result == ETCD_DENIED || result == ETCD_REFUSED) {
		strcpy(mirror->error, mirror->etcd->state.error);
	}
	if (result != ETCD_DONE || !revision) {
		retry(mirror);
		return;
	}
	*mirror->error = '\0';
	drop_missing(mirror, body, revision);
	mirror->truncated = json_is_true(json_object_get(body, "more"));
	for (size_t i = 0; etcd_range_kv(body, i, &kv); i++, etcd_kv_free(&kv))
		if (is_mine(mirror, &kv))
			take(mirror, &kv, true);
	open_watch(mirror, revision + 1);
	mirror->calls->ready(mirror->data);
}

static void take_comparison(void *data, enum etcd_result result, const json_t *body)
{
	struct etcd_mirror *mirror = data;
	size_t equal = 0, count = 0;
	bool same;
	struct etcd_kv kv;

	mirror->call = NULL;
	for (size_t i = 0; etcd_range_kv(body, i, &kv); i++, etcd_kv_free(&kv)) {
		count += kv.key != NULL;
		equal += kv.key && revision_of(json_object_get(mirror->known, kv.key)) == kv.mod_revision;
	}
	same = equal == count && equal == json_object_size(mirror->known);
	/* The watch stays at an endpoint that no longer replies to others until it moves, too. An event may be on its
	 * way, so one difference is no proof. */
	if (result == ETCD_DONE && (same || !mirror->differs) &&
		etcd_call_endpoint(mirror->watch) == mirror->etcd->endpoint) {
		mirror->differs = !same;
		mirror->task.due_ms = clock_now_ms() + (same ? COMPARE_MS : COMPARE_AGAIN_MS);
	} else {
		retry(mirror);
	}
}

static void run(struct etcd_task *task)
{
	struct etcd_mirror *mirror = container_of(task, struct etcd_mirror, task);
	json_t *range;

	task->due_ms = ETCD_NEVER;
	if (mirror->watch && !mirror->open) {
		size_t endpoint = etcd_call_endpoint(mirror->watch);

		etcd_say(mirror->etcd, endpoint, "does not confirm a watch within %u ms", mirror->etcd->conf->timeout_ms);
		etcd_leave_endpoint(mirror->etcd, endpoint);
		retry(mirror);
		return;
	}
	range = etcd_range(mirror->key, mirror->prefix, (unsigned)mirror->max);
	if (mirror->watch)
		json_object_set_new(range, "keys_only", json_true());
	mirror->call = etcd_call_start(
		mirror->etcd, ETCD_RANGE, range, NULL, mirror->watch ? take_comparison : take_read, mirror);
	if (!mirror->call)
		retry(mirror);
}

struct etcd_mirror *etcd_mirror_open(
	struct etcd *etcd, const char *key, bool prefix, size_t max, const struct etcd_mirror_calls *calls, void *data)
{
	struct etcd_mirror *mirror = calloc(1, sizeof(*mirror));

	if (!mirror)
		return NULL;
	*mirror = (struct etcd_mirror){.etcd = etcd,
		.task = {.run = run},
		.key = strdup(key),
		.known = json_object(),
		.prefix = prefix,
		.max = max,
		.calls = calls,
		.data = data,
		.retry_ms = RETRY_MS};
	etcd_task_add(etcd, &mirror->task);
	if (mirror->key && mirror->known)
		return mirror;
	etcd_mirror_close(mirror);
	return NULL;
}

void etcd_mirror_close(struct etcd_mirror *mirror)
{
	retry(mirror); /* cancels */
	etcd_task_remove(mirror->etcd, &mirror->task);
	json_decref(mirror->known);
	free(mirror->key);
	free(mirror);
}

bool etcd_mirror_is_current(const struct etcd_mirror *mirror)
{
	return mirror->open;
}

const char *etcd_mirror_error(const struct etcd_mirror *mirror)
{
	return mirror->error;
}

bool etcd_mirror_truncated(const struct etcd_mirror *mirror)
{
	return mirror->truncated;
}
