/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/director.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/text.h"
#include "program/member.h"

enum {
	PAGE = 32, /* binds of a reply: docs/reference/telemetry.md */
	LIST_PAGE = 64, /* tables of a reply */
	MAX_FIRST = 1 << 15, /* more than a table has: ends the loop if another program replies */
	TRIES = 10,
	LONGEST_V4 = 24, /* larger prefixes are announced only if the configuration lists them */
	LONGEST_V6 = 48,
};

__attribute__((format(printf, 3, 4))) static void answer(
	struct director *director, enum answer answer, const char *format, ...)
{
	va_list args;

	director->answer = answer;
	va_start(args, format);
	vsnprintf(director->reason, sizeof(director->reason), format, args);
	va_end(args);
	text_mend(director->reason); /* a character may be cut */
}

void director_open(struct director *director)
{
	*director = (struct director){.socket = {.fd = -1}};
	answer(director, ANSWER_SILENT, "the director was not asked yet");
	strcpy(director->state, "unknown");
}

static void forget_binds(struct director *director)
{
	free(director->binds);
	free(director->tables);
	director->binds = NULL;
	director->tables = NULL;
	director->bind_count = director->table_count = 0;
	director->generation = 0;
}

void director_close(struct director *director)
{
	telemetry_socket_close(&director->socket);
	forget_binds(director);
}

/* Ends the connection after an error, which tells whether the director has ended or only says nothing. */
static void fail(struct director *director, int error, struct faults *faults)
{
	bool connected = director->socket.fd >= 0;
	bool ended = connected ? error == -EPIPE || error == -ECONNRESET : error == -ENOENT || error == -ECONNREFUSED;

	telemetry_socket_close(&director->socket);
	strcpy(director->state, "unknown");
	if (ended)
		answer(director, ANSWER_GONE, "%s", connected ? "glb-director has ended" : "glb-director does not run");
	else
		answer(director, ANSWER_SILENT, "glb-director does not say whether it forwards: %s",
			faults_first_error(faults));
	faults_clear(faults);
}

/* Returns false if there is no connection, or if it is a new one to another director. */
static bool connect_to(struct director *director, const struct announce_conf *conf)
{
	struct faults faults = {0};
	json_int_t before = director->pid;
	int error;

	if (director->socket.fd >= 0)
		return true;
	error = telemetry_socket_open(&director->socket, conf->file_prefix, conf->timeout_ms, &faults);
	if (error) {
		fail(director, error, &faults);
		return false;
	}
	director->pid = director->socket.pid;
	forget_binds(director);
	if (!before || before == director->pid)
		return true;
	answer(director, ANSWER_GONE, "glb-director was restarted");
	return false;
}

/* Returns the reply, which the caller frees; NULL: the answer says why there is none. */
static json_t *ask(struct director *director, const char *command)
{
	struct faults faults = {0};
	json_t *reply;
	int error = telemetry_socket_ask(&director->socket, command, &reply, &faults);

	if (error)
		fail(director, error, &faults);
	return reply;
}

/* Says why the director is failing: its first reason that is a failing one. */
static void explain_failing(struct director *director, const json_t *health)
{
	const char *key;
	json_t *reason;

	answer(director, ANSWER_BAD, "glb-director is %s", member_text(health, "state"));
	json_object_foreach(json_object_get(health, "reasons"), key, reason)
	{
		if (strcmp(member_text(reason, "severity"), "failing") != 0)
			continue;
		telemetry_join_text(reason, "text");
		answer(director, ANSWER_BAD, "glb-director is %s: %s: %s: %s", member_text(health, "state"),
			member_text(reason, "cause"), member_text(reason, "object"), member_text(reason, "text"));
		return;
	}
}

/* Returns false if no packet can be forwarded, or nothing is known. */
static bool ask_health(struct director *director)
{
	json_t *health = ask(director, "/glb/health");
	const char *state = member_text(health, "state");
	bool good = strcmp(state, "ok") == 0 || strcmp(state, "degraded") == 0;

	if (!health)
		return false;
	snprintf(director->state, sizeof(director->state), "%s", *state ? state : "unknown");
	text_mend(director->state);
	if (good)
		answer(director, ANSWER_GOOD, "glb-director is %s", state);
	else if (strcmp(state, "stopping") == 0)
		answer(director, ANSWER_GONE, "glb-director is stopping");
	else if (!*state)
		answer(director, ANSWER_SILENT, "glb-director sent a health without a state");
	else
		explain_failing(director, health);
	json_decref(health);
	return good;
}

/* Adds the binds of a page. Returns false: out of memory. */
static bool add_binds(struct director *director, const json_t *page, uint32_t table)
{
	json_t *bind;
	const char *key;

	json_object_foreach(json_object_get(page, "binds"), key, bind)
	{
		struct director_bind *item = array_append(&director->binds, &director->bind_count, sizeof(*item));
		const char *whole = member_text(bind, "bind"); /* "ADDRESS PROTOCOL FROM-TO" */
		char address[NETPREFIX_TEXT_MAX];

		if (!item)
			return false;
		snprintf(address, sizeof(address), "%.*s", (int)strcspn(whole, " "), whole);
		item->table = table;
		director->bind_count -= !netprefix_parse(address, &item->prefix, NULL);
	}
	return true;
}

/* Returns false if the director has another table now, or does not reply. */
static bool read_binds(struct director *director, json_int_t generation, uint32_t table)
{
	json_int_t more = 1;

	for (unsigned first = 0; more && first < MAX_FIRST; first += PAGE) {
		char command[64];
		json_t *page;
		bool added;

		snprintf(command, sizeof(command), "/glb/tables,%" PRIu32 ",%u", table, first);
		page = ask(director, command);
		if (!page)
			return false;
		more = member_number(page, "truncated");
		added = member_number(page, "generation") == generation && add_binds(director, page, table);
		json_decref(page);
		if (!added)
			return false;
	}
	return true;
}

/* Adds tables, with the number of good backends of each. */
static bool add_tables(struct director *director, const json_t *list)
{
	const char *key;
	json_t *table;

	json_object_foreach((json_t *)list, key, table)
	{
		struct director_table *item = array_append(&director->tables, &director->table_count, sizeof(*item));

		if (!item)
			return false;
		snprintf(item->name, sizeof(item->name), "%s", member_text(table, "name"));
		item->good_backends = (uint32_t)member_number(table, "good_backends");
	}
	return true;
}

/* Reads which tables there are, page after page. False: the director has another table now, or does not reply. */
static bool read_tables(struct director *director, json_int_t *generation)
{
	json_int_t more = 1;

	director->table_count = 0;
	for (unsigned first = 0; more && first < MAX_FIRST; first += LIST_PAGE) {
		char command[64] = "/glb/tables";
		json_t *page;
		bool added;

		if (first)
			snprintf(command, sizeof(command), "/glb/tables,,%u", first);
		page = ask(director, command);
		if (!first)
			*generation = member_number(page, "generation");
		more = member_number(page, "truncated");
		added = page && member_number(page, "generation") == *generation &&
			add_tables(director, json_object_get(page, "tables"));
		json_decref(page);
		if (!added)
			return false;
	}
	return true;
}

enum outcome { SAME, NEW, AGAIN, NO_REPLY };

static enum outcome read_once(struct director *director)
{
	json_int_t generation = 0;
	bool read = read_tables(director, &generation);

	if (read && generation == director->generation)
		return SAME;
	director->bind_count = 0;
	director->generation = 0;
	for (uint32_t i = 0; read && i < director->table_count; i++)
		read = read_binds(director, generation, i);
	if (read)
		director->generation = generation;
	else
		return director->socket.fd < 0 ? NO_REPLY : AGAIN;
	return NEW;
}

/* Returns true if the binds are new. A director that reloads between two pages is asked again. */
static bool ask_tables(struct director *director)
{
	enum outcome outcome = AGAIN;

	for (unsigned try = 0; try < TRIES && outcome == AGAIN; try++)
		outcome = read_once(director);
	if (outcome == AGAIN)
		answer(director, ANSWER_SILENT, "glb-director does not send its tables");
	return outcome == NEW;
}

bool director_ask(struct director *director, const struct announce_conf *conf)
{
	return connect_to(director, conf) && ask_health(director) && ask_tables(director);
}

static bool overlaps(const struct netprefix *a, const struct netprefix *b)
{
	return netprefix_covers(a, &b->addr) || netprefix_covers(b, &a->addr);
}

enum answer director_answer(
	const struct director *director, const struct netprefix *prefix, char reason[DECISION_REASON_MAX])
{
	const struct director_table *bad = NULL;

	snprintf(reason, DECISION_REASON_MAX, "%s", director->reason);
	if (director->answer != ANSWER_GOOD)
		return director->answer;
	for (size_t i = 0; i < director->bind_count; i++) {
		const struct director_bind *bind = &director->binds[i];
		const struct director_table *table;

		/* A program that is no director may list fewer tables than before. */
		if (bind->table >= director->table_count || !overlaps(&bind->prefix, prefix))
			continue;
		table = &director->tables[bind->table];
		if (table->good_backends) {
			snprintf(reason, DECISION_REASON_MAX, "%.60s, and table %.63s has a good backend",
				director->reason, table->name);
			return ANSWER_GOOD;
		}
		bad = table;
	}
	if (bad)
		snprintf(reason, DECISION_REASON_MAX, "no table of this VIP has a good backend, for instance table %s",
			bad->name);
	else
		snprintf(reason, DECISION_REASON_MAX, "the forwarding table has no bind with this VIP");
	return ANSWER_BAD;
}

static bool is_too_large(const struct netprefix *prefix)
{
	return prefix->length < (prefix->addr.family == NETADDR_V4 ? LONGEST_V4 : LONGEST_V6);
}

size_t director_prefixes(const struct director *director, const struct netaddr *probe, struct netprefix *prefixes,
	size_t max, size_t *left_out)
{
	size_t count = 0;

	*left_out = 0;
	for (size_t i = 0; i < director->bind_count; i++) {
		const struct netprefix *prefix = &director->binds[i].prefix;

		if (netprefix_is_in(prefixes, count, prefix) || netprefix_covers(prefix, probe))
			continue;
		if (count < max && !is_too_large(prefix))
			prefixes[count++] = *prefix;
		else
			++*left_out;
	}
	return count;
}
