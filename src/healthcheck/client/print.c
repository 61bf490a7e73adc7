/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/text.h"
#include "common/utc.h"
#include "healthcheck/client/client.h"
#include "healthcheck/monitor/expiry.h"
#include "healthcheck/publish/reload_hook.h"
#include "program/command.h"
#include "program/member.h"

#define FIRST  38 /* columns of a row's first field */
#define INDENT 8 /* of the text after "src", "dst" and "reload" */

static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)member_number(object, key);
}

static void print_row(const char *first, const char *verdict, const char *dst, const char *latency, const char *since)
{
	char row[2 * COMMAND_COLUMNS];
	size_t end;

	if (strlen(first) > FIRST) {
		command_print(6, "%s", first);
		first = "";
	}
	snprintf(row, sizeof(row), "%-*s %-9s %-9s %10s %10s", FIRST, first, verdict, dst, latency, since);
	for (end = strlen(row); end > 0 && row[end - 1] == ' '; end--)
		row[end - 1] = '\0';
	command_print(6, "%s", row);
}

/* Writes the time of day, or the date if that was more than a day ago. */
static void format_since(uint64_t changed_s, char buf[16])
{
	time_t changed = (time_t)changed_s, now = time(NULL);
	struct tm local;

	buf[0] = '\0';
	if (changed && localtime_r(&changed, &local))
		strftime(buf, 16, now - changed < 24 * 60 * 60 ? "%H:%M:%S" : "%Y-%m-%d", &local);
}

/* A check that could not run keeps its verdict, which may be out of date. */
static void print_age(const json_t *check, const char *result)
{
	uint64_t age_ms = number(check, "age_ms");

	if (strcmp(result, "not_run") == 0 && age_ms)
		command_print(6, "    its last result is %" PRIu64 " s old", age_ms / 1000);
}

static void print_expiry(const json_t *check)
{
	time_t expires = (time_t)number(check, "tls_expires"), left = expires - time(NULL);
	char date[UTC_TEXT_MAX];

	if (expires && left <= EXPIRY_WARNING_S)
		command_print(6, "    a certificate of the proxy %s on %s", left < 0 ? "has expired" : "expires",
			utc_strftime(expires, UTC_DATE, date));
}

static void print_check(const json_t *check)
{
	char name[256], latency[32], since[16];
	uint64_t against = number(check, "against_verdict");
	const char *result = member_text(check, "result");

	snprintf(name, sizeof(name), "  %s", member_text(check, "check"));
	snprintf(latency, sizeof(latency), "%.1f ms", json_real_value(json_object_get(check, "latency_ms")));
	format_since(number(check, "changed"), since);
	print_row(name, member_text(check, "verdict"), "", latency, since);
	if (strcmp(result, "passed") != 0 || against)
		command_print(6, "    %s: %s%s", result, member_text(check, "reason"),
			against ? " (this contradicts the verdict, which does not change yet)" : "");
	print_age(check, result);
	print_expiry(check);
	if (number(check, "flaps") && number(check, "held_ms"))
		command_print(6, "    it flaps: stays unhealthy for %" PRIu64 " s more", number(check, "held_ms") / 1000);
}

static bool is_inactive(const json_t *backend)
{
	return strcmp(member_text(backend, "state"), "inactive") == 0;
}

static void print_backend(const json_t *backend)
{
	bool healthy = json_is_true(json_object_get(backend, "healthy"));
	const json_t *check;
	char name[80];
	size_t i;

	snprintf(name, sizeof(name), "%s %s", member_text(backend, "ip"), member_text(backend, "state"));
	print_row(name, is_inactive(backend) ? "unchecked" : member_text(backend, "verdict"),
		healthy ? "healthy" : "unhealthy", "", "");
	json_array_foreach(json_object_get(backend, "checks"), i, check) print_check(check);
}

struct totals {
	uint64_t backends, unhealthy, unknown; /* without inactive ones */
};

static void count_backends(const json_t *table, struct totals *totals)
{
	const json_t *backend;
	size_t i;

	json_array_foreach(json_object_get(table, "backends"), i, backend)
	{
		if (is_inactive(backend))
			continue;
		totals->backends++;
		totals->unhealthy += strcmp(member_text(backend, "verdict"), "unhealthy") == 0;
		totals->unknown += strcmp(member_text(backend, "verdict"), "unknown") == 0;
	}
}

static void print_table(const json_t *table)
{
	struct totals totals = {0};
	uint64_t kept = number(table, "kept_by_panic");
	char panic[96] = "";
	const json_t *backend;
	size_t i;

	count_backends(table, &totals);
	if (json_is_true(json_object_get(table, "panic")))
		snprintf(panic, sizeof(panic), "; panic keeps %" PRIu64 " unhealthy backend%s in service", kept,
			text_plural(kept));
	puts("");
	command_print(0, "table %s: %" PRIu64 " of %" PRIu64 " backend%s healthy%s", member_text(table, "name"),
		totals.backends - totals.unhealthy - totals.unknown, totals.backends, text_plural(totals.backends),
		panic);
	print_row("BACKEND, CHECKS", "VERDICT", "IN DST", "LATENCY", "SINCE");
	json_array_foreach(json_object_get(table, "backends"), i, backend) print_backend(backend);
}

/* The parts of /status that count their work. */
static const struct part {
	const char *name;
	/* The member that comes first in the line, and those with the numbers. */
	const char *subject, *done, *failed;
	const char *done_text, *failed_text;
	/* What is wrong if the part has an error. */
	const char *problem;
} parts[] = {
	{"src", "file", "loads", "refused", "loaded", "refused", "src refused"},
	{"dst", "file", "writes", "failed", "written", "failed", "dst not written"},
	{"reload", "state", "runs", "failed", "run", "failed", "reload failed"},
	{"trust", "file", "loads", "refused", "loaded", "refused", "trusted certificates refused"},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static void print_part(const struct part *part, const json_t *object)
{
	uint64_t done = number(object, part->done), failed = number(object, part->failed);
	const char *director = reload_hook_director_text(member_text(object, "director"));

	command_print(INDENT, "%-7s %s: %s %" PRIu64 " time%s, %s %" PRIu64 " time%s%s%s", part->name,
		member_text(object, part->subject), part->done_text, done, text_plural(done), part->failed_text, failed,
		text_plural(failed), *director ? "; " : "", director);
	if (*member_text(object, "error"))
		command_print(INDENT, "%*s%s", INDENT, "", member_text(object, "error"));
}

/* Returns an object of the part; NULL: there are no more. There are several files of trusted certificates. */
static const json_t *part_object(const json_t *status, const struct part *part, size_t i)
{
	const json_t *object = json_object_get(status, part->name);

	return json_is_array(object) ? json_array_get(object, i) : i ? NULL : object;
}

static bool has_error(const json_t *status, const struct part *part)
{
	const json_t *object;
	bool found = false;

	for (size_t i = 0; (object = part_object(status, part, i)); i++)
		found |= *member_text(object, "error") != '\0';
	return found;
}

/* Writes what is wrong, as "2 of 3 backends unhealthy, src refused". Empty: everything is healthy. */
static char *find_problems(const json_t *status)
{
	struct totals totals = {0};
	const json_t *table;
	char *text = NULL;
	size_t i, size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	json_array_foreach(json_object_get(status, "tables"), i, table) count_backends(table, &totals);
	if (totals.backends == 0)
		fputs(", no backends", to);
	if (totals.unhealthy)
		fprintf(to, ", %" PRIu64 " of %" PRIu64 " backend%s unhealthy", totals.unhealthy, totals.backends,
			text_plural(totals.backends));
	if (totals.unknown)
		fprintf(to, ", %" PRIu64 " of %" PRIu64 " backend%s without a verdict", totals.unknown, totals.backends,
			text_plural(totals.backends));
	for (i = 0; i < PARTS; i++)
		if (has_error(status, &parts[i]))
			fprintf(to, ", %s", parts[i].problem);
	return text_end(to, &text);
}

bool client_is_good(const json_t *status)
{
	char *problems = find_problems(status);
	bool good = problems && !*problems;

	free(problems);
	return good;
}

void client_print(const json_t *status)
{
	char *problems = find_problems(status);
	const json_t *table, *object;
	size_t i;

	command_print(0, "glb-healthcheck %s: %s", member_text(status, "version"),
		!problems   ? "out of memory"
		: *problems ? problems + 2
			    : "all backends healthy");
	free(problems);
	for (i = 0; i < PARTS; i++)
		for (size_t j = 0; (object = part_object(status, &parts[i], j)); j++)
			print_part(&parts[i], object);
	json_array_foreach(json_object_get(status, "tables"), i, table) print_table(table);
}
