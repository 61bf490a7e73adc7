/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deliver/director.h"
#include "fleet/apply.h"
#include "fleet/job.h"
#include "program/member.h"
#include "program/telemetry_socket.h"
#include "table/file/json/json_text.h"
#include "table/file/table_load.h"
#include "table/table_past.h"

#define TIMEOUT_MS 2000u
#define REASON_MAX 300

static bool ask_unit(const char *unit, json_t *result)
{
	struct director_table table;
	bool told = director_of_unit(unit, &table);

	json_object_set_new(result, "digest", json_string(table.digest));
	json_object_set_new(result, "state", json_text(table.state));
	json_object_set_new(result, "reasons", *table.reason ? json_pack("[o]", json_text(table.reason)) : json_array());
	return told;
}

static json_t *describe_reasons(json_t *health)
{
	json_t *reasons = json_array(), *reason;
	char text[REASON_MAX];
	const char *key;

	json_object_foreach(json_object_get(health, "reasons"), key, reason)
	{
		telemetry_join_text(reason, "text");
		snprintf(text, sizeof(text), "%s: %s: %s", member_text(reason, "severity"),
			member_text(reason, "object"), member_text(reason, "text"));
		if (json_array_size(reasons) < LOOK_REASONS)
			json_array_append_new(reasons, json_text(text));
	}
	return reasons;
}

static bool ask_telemetry(const struct fleet_conf *conf, json_t *result)
{
	static const char *const keys[] = {"digest", "fingerprint", "first_hops", "table_path"};
	struct telemetry_socket socket;
	struct faults faults = {0};
	json_t *stats = NULL, *health = NULL;

	if (telemetry_socket_open(&socket, conf->file_prefix, TIMEOUT_MS, &faults) == 0 &&
		telemetry_socket_ask(&socket, "/glb/stats", &stats, &faults) == 0 &&
		telemetry_socket_ask(&socket, "/glb/health", &health, &faults) == 0) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			json_object_set_new(result, keys[i], json_text(member_text(stats, keys[i])));
		json_object_set_new(result, "state", json_text(member_text(health, "state")));
		json_object_set_new(result, "reasons", describe_reasons(health));
	} else {
		json_object_set_new(result, "why", json_text(faults_first_error(&faults)));
	}
	telemetry_socket_close(&socket);
	faults_clear(&faults);
	json_decref(stats);
	json_decref(health);
	return *member_text(result, "digest");
}

/* Backends that differ in health only are the same. */
static bool is_same_backend(const struct table *a, uint32_t index, const struct table *b, const uint32_t *order)
{
	const struct table_backend *backend = &a->backends[index];
	uint32_t other = table_find_backend(b, order, &backend->addr);

	return other < b->backend_count && b->backends[other].state == backend->state &&
	       table_backend_weight(&b->backends[other]) == table_backend_weight(backend);
}

/* Returns true if the used table has the previous states of the wanted one. glb-healthcheck adds states, and leaves out
 * those that repeat the present one, and any if there is no room. */
static bool has_past(const struct table *used, const struct table *wanted)
{
	struct table_past present;
	bool has = table_past_of(used, true, &present);

	for (uint32_t i = 0; has && used->past_count < TABLE_MAX_PAST && i < wanted->past_count; i++) {
		has = table_past_is_same(&present, &wanted->past[i]);
		table_past_sort(&wanted->past[i]);
		for (uint32_t other = 0; other < used->past_count; other++)
			has |= table_past_is_same(&wanted->past[i], &used->past[other]);
	}
	free(present.backends);
	return has;
}

static bool is_same_table(const struct table *used, const struct table *wanted)
{
	uint32_t *order = table_backend_order(wanted);
	bool same = order && used->hops == wanted->hops && used->balance == wanted->balance &&
		    used->backend_count == wanted->backend_count && has_past(used, wanted);

	for (uint32_t i = 0; same && i < used->backend_count; i++)
		same = is_same_backend(used, i, wanted, order);
	free(order);
	return same;
}

/* Returns true if glb-healthcheck makes the used set of the wanted one, or if they are the same. */
static bool is_same_set(const struct table_set *used, const struct table_set *wanted)
{
	bool same = used->count == wanted->count && table_set_fingerprint(used) == table_set_fingerprint(wanted);

	for (uint32_t i = 0; same && i < used->count; i++)
		same = is_same_table(&used->tables[i], &wanted->tables[i]);
	return same;
}

/* The file must be the one that the director has read, and it tells what the unit's status line does not. */
static void compare_files(const struct look_plan *plan, json_t *result)
{
	const struct fleet_conf *conf = plan->conf;
	const char *path = *member_text(result, "table_path") ? member_text(result, "table_path") : conf->binary;
	struct table_set used, wanted;
	struct faults ignored = {0};
	char hex[TEXT_HEX64];
	bool current = false;

	if (table_load(path, &used, NULL, &ignored) == 0) {
		if (strcmp(text_hex64(table_set_digest(&used), hex), member_text(result, "digest")) == 0) {
			json_object_set_new(
				result, "fingerprint", json_string(text_hex64(table_set_fingerprint(&used), hex)));
			json_object_set_new(
				result, "first_hops", json_string(text_hex64(table_set_first_hops(&used), hex)));
			/* What another program has written there is not from etcd. */
			if (apply_has(conf->table, plan->written) &&
				table_load_json(conf->table, &wanted, &ignored) == 0) {
				current = is_same_set(&used, &wanted);
				table_set_free(&wanted);
			}
		}
		table_set_free(&used);
	}
	faults_clear(&ignored);
	json_object_set_new(result, "current", json_boolean(current));
}

void look_run(const void *data)
{
	const struct look_plan *plan = data;
	const struct fleet_conf *conf = plan->conf;
	json_t *result = json_object();
	bool by_unit = conf->notify && conf->notify[0] != '/', told;
	const char *digest;

	told = ask_telemetry(conf, result) || (by_unit && ask_unit(conf->notify, result));
	if (!told)
		json_object_set_new(result, "state", json_string("unknown"));
	digest = member_text(result, "digest");
	if (told && strcmp(digest, plan->digest) == 0 && *member_text(result, "fingerprint"))
		json_object_set_new(result, "current", json_true());
	else if (told && strcmp(digest, plan->decided) != 0)
		compare_files(plan, result);
	job_finish(result);
}

static void take(char *to, size_t size, const json_t *result, const char *key)
{
	snprintf(to, size, "%s", member_text(result, key));
}

void look_take(struct look *look, const json_t *result)
{
	const json_t *current = json_object_get(result, "current");

	look->answers = *member_text(result, "digest");
	if (strcmp(member_text(result, "digest"), look->digest) != 0 || current) {
		take(look->fingerprint, sizeof(look->fingerprint), result, "fingerprint");
		take(look->first_hops, sizeof(look->first_hops), result, "first_hops");
		look->current = json_is_true(current);
	}
	take(look->digest, sizeof(look->digest), result, "digest");
	take(look->state, sizeof(look->state), result, "state");
	json_decref(look->reasons);
	look->reasons = json_incref(json_object_get(result, "reasons"));
}

void look_free(struct look *look)
{
	json_decref(look->reasons);
	*look = (struct look){0};
}
