/* SPDX-License-Identifier: BSD-3-Clause */
/* Forwarding tables, and tables that GLB's health checks wrote. They are valid here, except for what GLB ignores. */
#include <stdlib.h>
#include <string.h>

#include "cli/migrate/migrate.h"
#include "table/file/table_json.h"

/* The members that this project knows. It refuses all others, except comments. */
static const char *const document_members[] = {"tables", "healthchecks", "replaces", NULL};
static const char *const table_members[] = {
	"name", "hash_key", "seed", "hops", "binds", "backends", "healthchecks", NULL};
static const char *const bind_members[] = {"ip", "proto", "port", "port_start", "port_end", NULL};
static const char *const backend_members[] = {"ip", "state", "healthy", "healthchecks", NULL};
static const char *const check_members[] = {"http", "http_uri", "tcp", "gue", "fou", NULL};
static const char *const timing_members[] = {
	"interval_ms", "timeout_ms", "trigger", "trigger_healthy", "trigger_unhealthy", NULL};

/* What was done, and what is in the tables. */
struct draft {
	struct migration *migration;
	bool changed, http, fou;
};

static bool matches(const struct migration *migration)
{
	return json_is_array(json_object_get(migration->root, "tables"));
}

static bool is_known(const char *key, const char *const *known)
{
	while (*known && strcmp(*known, key) != 0)
		known++;
	return *known || strncmp(key, "x-", 2) == 0 || key[0] == '_';
}

/* Makes unknown members comments: GLB ignores them. Keeps the order of the members. */
static void comment_out(struct draft *draft, const char *where, json_t *object, const char *const *known)
{
	json_t *members = json_copy(object), *value;
	const char *key;

	json_object_clear(object);
	json_object_foreach(members, key, value)
	{
		char *comment = NULL;

		if (is_known(key, known)) {
			json_object_set(object, key, value);
			continue;
		}
		if (asprintf(&comment, "x-%s", key) < 0 || json_object_get(members, comment) ||
			json_object_set(object, comment, value) < 0)
			faults_error(&draft->migration->errors, where, "'%.64s' cannot become a comment: rename it", key);
		else
			faults_warn(&draft->migration->notes, where,
				"'%.64s' is written as '%.64s', a comment, because GLB ignores it, too", key, comment);
		free(comment);
		draft->changed = true;
	}
	json_decref(members);
}

/* Comments out the unknown members of all elements of object[member]. */
static void comment_out_each(
	struct draft *draft, const char *where, const json_t *object, const char *member, const char *const *known)
{
	json_t *element;
	char place[96];
	size_t i;

	json_array_foreach(json_object_get(object, member), i, element)
	{
		snprintf(place, sizeof(place), "%s%s%s[%zu]", where, *where ? "." : "", member, i);
		comment_out(draft, place, element, known);
	}
}

/*
 * Writes `healthy` where it is missing. GLB's build-config reads a missing one as false, and this project as true. If no
 * backend has the member, health checks or nobody set it, and true is right; else false keeps the rows.
 */
static void set_healthy(struct draft *draft, const char *where, json_t *backends)
{
	bool any = false;
	size_t i, missing = 0;
	json_t *backend;

	json_array_foreach(backends, i, backend)
	{
		bool has = json_is_boolean(json_object_get(backend, "healthy"));

		any |= has;
		missing += !has && json_is_object(backend);
	}
	if (!missing)
		return;
	json_array_foreach(backends, i, backend) if (!json_is_boolean(json_object_get(backend, "healthy")))
		json_object_set_new(backend, "healthy", json_boolean(!any));
	draft->changed = true;
	if (any)
		faults_warn(&draft->migration->notes, where,
			"healthy = false is written for %zu backend%s without true or false, as build-config of GLB reads it",
			missing, missing == 1 ? "" : "s");
	else
		faults_warn(&draft->migration->notes, where,
			"healthy = true is written for all backends; build-config of GLB would read false, and swap the hops of each row");
}

static bool is_named(json_t *tables, const char *name)
{
	json_t *table;
	size_t i;

	json_array_foreach(tables, i, table)
	{
		const char *other = json_string_value(json_object_get(table, "name"));

		if (other && strcmp(other, name) == 0)
			return true;
	}
	return false;
}

static void set_name(struct draft *draft, const char *where, json_t *tables, size_t index)
{
	json_t *table = json_array_get(tables, index);
	const json_t *old = json_object_get(table, "name");
	char name[32];

	if (!json_is_object(table) || json_string_length(old) > 0 || (old && !json_is_null(old) && !json_is_string(old)))
		return;
	do
		snprintf(name, sizeof(name), "table-%zu", index++);
	while (is_named(tables, name));
	json_object_set_new(table, "name", json_string(name));
	draft->changed = true;
	faults_warn(&draft->migration->notes, where, "is named %s", name);
}

static void look_at_checks(struct draft *draft, const char *where, json_t *backends)
{
	json_t *backend;
	char place[96];
	size_t i;

	json_array_foreach(backends, i, backend)
	{
		json_t *checks = json_object_get(backend, "healthchecks");

		snprintf(place, sizeof(place), "%s.backends[%zu].healthchecks", where, i);
		if (json_is_object(checks))
			comment_out(draft, place, checks, check_members);
		draft->http |= json_object_get(checks, "http") != NULL;
		draft->fou |= json_object_get(checks, "fou") != NULL;
	}
}

static void convert_table(struct draft *draft, json_t *tables, size_t index)
{
	json_t *table = json_array_get(tables, index), *backends = json_object_get(table, "backends");
	char where[32], place[64];

	snprintf(where, sizeof(where), "tables[%zu]", index);
	snprintf(place, sizeof(place), "%s.healthchecks", where);
	comment_out(draft, where, table, table_members);
	comment_out(draft, place, json_object_get(table, "healthchecks"), timing_members);
	comment_out_each(draft, where, table, "binds", bind_members);
	comment_out_each(draft, where, table, "backends", backend_members);
	look_at_checks(draft, where, backends);
	set_healthy(draft, where, backends);
	if (draft->migration->names)
		set_name(draft, where, tables, index);
}

static void note_checks(const struct draft *draft)
{
	if (draft->http)
		faults_warn(&draft->migration->notes, NULL,
			"http checks follow no redirects here, those of GLB do: choose an http_uri whose status is 200");
	if (draft->fou)
		faults_warn(&draft->migration->notes, NULL,
			"fou checks of GLB send GRE: set fou_gre = true in healthcheck.conf, as its migration does");
}

static void convert(struct migration *migration)
{
	struct draft draft = {.migration = migration};
	json_t *tables = json_object_get(migration->root, "tables");

	comment_out(&draft, NULL, migration->root, document_members);
	comment_out(&draft, "healthchecks", json_object_get(migration->root, "healthchecks"), timing_members);
	for (size_t i = 0; i < json_array_size(tables); i++)
		convert_table(&draft, tables, i);
	note_checks(&draft);
	if (draft.changed) {
		json_dumpf(migration->root, migration->to, JSON_INDENT(2));
		fputc('\n', migration->to);
		return;
	}
	fwrite(migration->text, 1, migration->size, migration->to);
	faults_warn(&migration->notes, NULL, "needs no change: the result is a copy");
}

static void check(const char *text, size_t size, struct faults *faults)
{
	struct table_set set;

	table_json_parse(text, size, &set, faults);
	table_set_free(&set);
}

const struct migrate_kind migrate_table = {"JSON table", matches, convert, check};
