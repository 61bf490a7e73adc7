/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/live/snapshot.h"

#include <stdio.h>
#include <string.h>

enum {
	PAGE = 32, /* binds and backends of a reply: docs/reference/telemetry.md */
	LIST_PAGE = 64, /* tables of a reply */
	MAX_FIRST = 1 << 15, /* more than a table has: ends the loop if another program replies */
	TRIES = 20,
};

/* The outcome of a step. */
enum step { STEP_DONE, STEP_AGAIN, STEP_FAILED };

const char *snapshot_bind(const json_t *bind, char buf[SNAPSHOT_BIND_MAX])
{
	const char *text = member_text(bind, "bind"); /* "ADDRESS PROTOCOL FROM-TO" */
	char address[64], protocol[8];
	unsigned from, to;

	if (sscanf(text, "%63s %7s %u-%u", address, protocol, &from, &to) != 4)
		snprintf(buf, SNAPSHOT_BIND_MAX, "%s", text);
	else if (from == to)
		snprintf(buf, SNAPSHOT_BIND_MAX, "%s %s port %u", protocol, address, from);
	else
		snprintf(buf, SNAPSHOT_BIND_MAX, "%s %s port %u-%u", protocol, address, from, to);
	return buf;
}

/* Asks for a part of the tables of this generation (0: of any). STEP_AGAIN: there is another one now. */
static enum step ask(struct telemetry *telemetry, const char *command, json_int_t generation, json_t **reply)
{
	*reply = telemetry_ask(telemetry, command);
	if (!*reply)
		return STEP_FAILED;
	if (!generation || member_number(*reply, "generation") == generation)
		return STEP_DONE;
	json_decref(*reply);
	*reply = NULL;
	return STEP_AGAIN;
}

void snapshot_append(json_t *to, const json_t *list)
{
	const char *key;
	json_t *value;
	size_t index;

	json_object_foreach((json_t *)list, key, value) json_array_append(to, value);
	json_array_foreach(list, index, value) json_array_append(to, value);
}

/* Adds the binds and backends to a table of the list, page after page. */
static enum step read_pages(struct telemetry *telemetry, json_int_t generation, json_t *table)
{
	json_t *binds = json_array(), *backends = json_array();
	json_int_t index = member_number(table, "index"), more = 1;

	json_object_set_new(table, "binds", binds);
	json_object_set_new(table, "backends", backends);
	for (unsigned first = 0; more && first < MAX_FIRST; first += PAGE) {
		json_t *page;
		char command[64];
		enum step step;

		snprintf(command, sizeof(command), "/glb/tables,%" JSON_INTEGER_FORMAT ",%u", index, first);
		step = ask(telemetry, command, generation, &page);
		if (step != STEP_DONE)
			return step;
		snapshot_append(binds, json_object_get(page, "binds"));
		snapshot_append(backends, json_object_get(page, "backends"));
		more = member_number(page, "truncated");
		json_decref(page);
	}
	return STEP_DONE;
}

static bool is_wanted(const json_t *table, const char *wanted)
{
	char label[32];

	snprintf(label, sizeof(label), "#%" JSON_INTEGER_FORMAT, member_number(table, "index"));
	return !wanted || strcmp(member_text(table, "name"), wanted) == 0 || strcmp(label, wanted) == 0;
}

/* Reads the list of tables, page after page. *list is one reply with the tables of all. */
static enum step read_list(struct telemetry *telemetry, json_t **list)
{
	enum step step = ask(telemetry, "/glb/tables", 0, list);
	json_int_t more = member_number(*list, "truncated");

	for (unsigned first = LIST_PAGE; step == STEP_DONE && more && first < MAX_FIRST; first += LIST_PAGE) {
		char command[64];
		json_t *page;

		snprintf(command, sizeof(command), "/glb/tables,,%u", first);
		step = ask(telemetry, command, member_number(*list, "generation"), &page);
		more = member_number(page, "truncated");
		json_object_update(json_object_get(*list, "tables"), json_object_get(page, "tables"));
		json_decref(page);
	}
	return step;
}

/* Reads everything once. STEP_AGAIN: the director has reloaded its table meanwhile. */
static enum step read_once(struct telemetry *telemetry, enum snapshot_parts parts, const char *wanted, json_t *snapshot)
{
	json_t *list, *stats, *table, *tables = json_array();
	enum step step = read_list(telemetry, &list);
	json_int_t generation = member_number(list, "generation");
	const char *key;

	json_object_set_new(snapshot, "generation", json_integer(generation));
	json_object_set(snapshot, "digest", json_object_get(list, "digest"));
	json_object_set_new(snapshot, "tables", tables);
	json_object_foreach(json_object_get(list, "tables"), key, table)
	{
		if (step != STEP_DONE || !is_wanted(table, wanted))
			continue;
		json_array_append(tables, table);
		if (parts != SNAPSHOT_LIST)
			step = read_pages(telemetry, generation, table);
	}
	json_decref(list);
	if (step != STEP_DONE || parts != SNAPSHOT_ALL)
		return step;
	step = ask(telemetry, "/glb/stats", generation, &stats);
	if (step == STEP_DONE)
		json_object_set_new(snapshot, "stats", stats);
	return step;
}

json_t *snapshot_read(struct telemetry *telemetry, enum snapshot_parts parts, const char *table)
{
	for (unsigned try = 0; try < TRIES; try++) {
		json_t *snapshot = json_object();
		enum step step = read_once(telemetry, parts, table, snapshot);
		size_t count = json_array_size(json_object_get(snapshot, "tables"));

		if (step == STEP_DONE && (count || !table))
			return snapshot;
		json_decref(snapshot);
		if (step == STEP_FAILED)
			return NULL;
		if (step == STEP_DONE) {
			command_error("--table: the director has no table '%s'; 'tables --live' lists them", table);
			return NULL;
		}
	}
	command_error("the director replaces its table again and again; try again later");
	return NULL;
}

int snapshot_width(const json_t *objects, const char *key, int least)
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		int length = (int)strlen(member_text(object, key));

		least = length > least ? length : least;
	}
	return least;
}
