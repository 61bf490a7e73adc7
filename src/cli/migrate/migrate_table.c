/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwarding tables, and tables that GLB's health checks wrote. They are valid here, except for what GLB ignores.
 * Changes are made in a copy of the text, so that the rest of the file stays as it is.
 */
#include <string.h>

#include "cli/migrate/migrate.h"
#include "common/text.h"
#include "table/file/json/json_copy.h"
#include "table/file/json/table_json_members.h"
#include "table/file/table_load.h"

#define PATH_TEXT_MAX 128

/* The walk through the document. */
struct draft {
	struct migration *migration;
	struct json_copy copy;
	struct json_step steps[8]; /* to the value that is being visited */
	size_t depth;
	char path[PATH_TEXT_MAX]; /* the same for messages */
	bool healthy; /* what a backend of this table without `healthy` gets */
	bool http, fou; /* there are such checks */
	json_t *renamed; /* an object with the members that became comments */
};

static bool matches(const struct migration *migration)
{
	return json_is_array(json_object_get(migration->root, "tables"));
}

/* Writes the text in place of the bytes from begin to end of the file. Changes are made in the order of the file. */
static void replace(struct draft *draft, size_t begin, size_t end, const char *text)
{
	json_copy_until(&draft->copy, begin);
	fputs(text, draft->copy.to);
	draft->copy.done = end;
}

static void enter(struct draft *draft, const char *key, size_t index)
{
	size_t length = strlen(draft->path);

	draft->steps[draft->depth++] = (struct json_step){.key = key, .index = index};
	if (key)
		snprintf(draft->path + length, PATH_TEXT_MAX - length, "%s%s", length ? "." : "", key);
	else
		snprintf(draft->path + length, PATH_TEXT_MAX - length, "[%zu]", index);
}

static void leave(struct draft *draft, size_t length)
{
	draft->depth--;
	draft->path[length] = '\0';
}

static struct json_span find(struct draft *draft, const char *key)
{
	struct json_span span;

	draft->steps[draft->depth] = (struct json_step){.key = key};
	json_locate(&draft->copy.locate, draft->steps, draft->depth + 1, &span);
	return span;
}

static void set_member(struct draft *draft, const char *key, const char *value)
{
	struct json_span span = find(draft, key);

	replace(draft, span.value.at, span.end, value);
}

/* Adds a member to the visited object, laid out like `neighbour`: after it, or before it if that is the first one. */
static void add_member(struct draft *draft, const char *key, const char *value, const char *neighbour, bool first)
{
	const char *text = draft->migration->text;
	struct json_span span = find(draft, neighbour);
	size_t white = span.key.at - json_white_before(text, span.key.at);

	json_copy_until(&draft->copy, first ? white : span.end);
	fprintf(draft->copy.to, "%s%.*s\"%s\": %s%s", first ? "" : ",", (int)(span.key.at - white), text + white, key,
		value, first ? "," : "");
}

static void refuse_new(struct draft *draft, const char *key)
{
	if (!json_object_get(draft->renamed, key))
		faults_error(&draft->migration->errors, draft->path,
			"'%s' is a member of this project: the table needs no migration. If GLB uses it, remove the member first",
			key);
	json_object_set_new(draft->renamed, key, json_true());
}

/* GLB's programs refuse such a table. */
static void refuse_ipv6(struct draft *draft, const json_t *ip)
{
	struct netaddr addr;

	if (!json_is_string(ip) || !netaddr_parse(json_string_value(ip), &addr) || addr.family != NETADDR_V6 ||
		json_object_get(draft->renamed, "ip"))
		return;
	faults_error(&draft->migration->errors, draft->path,
		"'%s' is an IPv6 address, and GLB has only proxies with IPv4 addresses: the table needs no migration",
		json_string_value(ip));
	json_object_set_new(draft->renamed, "ip", json_true());
}

/* Makes the member a comment, because GLB ignores it. */
static void comment_out(struct draft *draft, const json_t *object, const char *key)
{
	char comment[256], shown[JSON_READER_TEXT_MAX];
	size_t at = find(draft, key).key.at + 1;

	snprintf(comment, sizeof(comment), "x-%s", key);
	json_reader_text(key, 64, shown);
	if (json_object_get(object, comment))
		faults_error(&draft->migration->errors, draft->path,
			"'%s' cannot become 'x-%s', which exists: rename it", shown, shown);
	else if (!json_object_get(draft->renamed, key))
		faults_warn(&draft->migration->notes, draft->path,
			"'%s' is written as 'x-%s' everywhere, a comment, because GLB ignores it, too", shown, shown);
	json_object_set_new(draft->renamed, key, json_true());
	replace(draft, at, at, "x-");
}

/*
 * GLB's build-config reads a missing `healthy` as false, and this project as true. If no backend of the table has the
 * member, health checks or nobody set it, and true is right; else false keeps the rows.
 */
static void decide_healthy(struct draft *draft, const json_t *table)
{
	size_t i, missing = 0, count = 0;
	json_t *backend;

	json_array_foreach(json_object_get(table, "backends"), i, backend)
	{
		missing += !json_is_boolean(json_object_get(backend, "healthy"));
		count++;
	}
	draft->healthy = missing == count;
	if (missing && draft->healthy)
		faults_warn(&draft->migration->notes, draft->path,
			"healthy = true is written for all backends; build-config of GLB would read false, and swap the hops of each row");
	else if (missing)
		faults_warn(&draft->migration->notes, draft->path,
			"healthy = false is written for %zu backend%s without true or false, as build-config of GLB reads it",
			missing, text_plural(missing));
}

static bool is_named(const json_t *tables, const char *name)
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

/* Returns true if the table needs a name, and the user wants one. */
static bool is_nameless(const struct draft *draft, const json_t *table)
{
	const json_t *name = json_object_get(table, "name");

	return draft->migration->names && json_object_size(table) &&
	       (!name || json_is_null(name) || (json_is_string(name) && json_string_length(name) == 0));
}

static void give_name(struct draft *draft, json_t *table)
{
	size_t index = draft->steps[draft->depth - 1].index;
	char name[32], value[64];

	do
		snprintf(name, sizeof(name), "table-%zu", index++);
	while (is_named(json_object_get(draft->migration->root, "tables"), name));
	snprintf(value, sizeof(value), "\"%s\"", name);
	if (json_object_get(table, "name"))
		set_member(draft, "name", value);
	else
		add_member(draft, "name", value, json_object_iter_key(json_object_iter(table)), true);
	json_object_set_new(table, "name", json_string(name));
}

static void visit(struct draft *draft, json_t *value, const struct json_member *members);

/* Visits a member of a table, backend or other object. `member`: NULL if this project does not know the key. */
static void visit_member(
	struct draft *draft, json_t *object, const char *key, json_t *value, const struct json_member *member)
{
	size_t length = strlen(draft->path);

	/* GLB's programs ignore the member, but a comment would change the rows. */
	if (member && member->decides_rows) {
		refuse_new(draft, key);
	} else if (member && member->members) {
		enter(draft, key, 0);
		visit(draft, value, member->members);
		leave(draft, length);
	} else if (!member && strncmp(key, "x-", 2) != 0 && key[0] != '_') {
		comment_out(draft, object, key);
	}
}

static void visit_members(struct draft *draft, json_t *object, const struct json_member *members)
{
	bool is_table = members == table_json_table, is_backend = members == table_json_backend;
	bool nameless = is_table && is_nameless(draft, object);
	const char *key, *last = NULL, *healthy = draft->healthy ? "true" : "false";
	json_t *value;

	if (is_table)
		decide_healthy(draft, object);
	if (is_backend)
		refuse_ipv6(draft, json_object_get(object, "ip"));
	if (nameless && !json_object_get(object, "name"))
		give_name(draft, object);
	json_object_foreach(object, key, value)
	{
		last = key;
		if (nameless && strcmp(key, "name") == 0 && is_nameless(draft, object))
			give_name(draft, object);
		else if (is_backend && strcmp(key, "healthy") == 0 && !json_is_boolean(value))
			set_member(draft, key, healthy);
		else
			visit_member(draft, object, key, value, json_member_find(members, key, strlen(key)));
	}
	draft->http |= members == table_json_checks && json_object_get(object, "http");
	draft->fou |= members == table_json_checks && json_object_get(object, "fou");
	if (last && is_backend && !json_object_get(object, "healthy"))
		add_member(draft, "healthy", healthy, last, false);
	if (nameless)
		faults_warn(&draft->migration->notes, draft->path, "is named %s",
			json_string_value(json_object_get(object, "name")));
}

/* Visits an object, or the objects in an array. Other values are left to the check of the result. */
static void visit(struct draft *draft, json_t *value, const struct json_member *members)
{
	size_t i, length = strlen(draft->path);
	json_t *element;

	if (json_is_object(value))
		visit_members(draft, value, members);
	json_array_foreach(value, i, element)
	{
		enter(draft, NULL, i);
		if (json_is_object(element))
			visit_members(draft, element, members);
		leave(draft, length);
	}
}

static void convert(struct migration *migration)
{
	struct draft draft = {
		.migration = migration,
		.copy = {.locate = {.text = migration->text, .size = migration->size}, .to = migration->to},
		.renamed = json_object(),
	};

	visit(&draft, migration->root, table_json_document);
	if (draft.http)
		faults_warn(&migration->notes, NULL,
			"http checks follow no redirects here, those of GLB do: choose an http_uri whose status is 200");
	if (draft.fou)
		faults_warn(&migration->notes, NULL,
			"fou checks of GLB send GRE: set fou_gre = true in healthcheck.conf, as its migration does");
	if (draft.copy.done == 0)
		faults_warn(&migration->notes, NULL, "needs no change: the result is a copy");
	json_copy_until(&draft.copy, migration->size);
	json_decref(draft.renamed);
}

static void read_result(const char *path, struct faults *faults)
{
	struct table_set set;

	table_load_json(path, &set, faults);
	table_set_free(&set);
}

const struct migrate_kind migrate_table = {"JSON table", matches, convert, read_result, false};
