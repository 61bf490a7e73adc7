/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/text.h"
#include "healthcheck/client/client.h"
#include "healthcheck/client/lines.h"

#define FIRST  38 /* columns of a row's first field */
#define INDENT 8 /* of the text after "src", "dst" and "reload" */

static const char *string(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void print_row(const char *first, const char *verdict, const char *dst, const char *latency, const char *since)
{
	char row[2 * LINES_COLUMNS];
	size_t end;

	if (strlen(first) > FIRST) {
		lines_print(6, "%s", first);
		first = "";
	}
	snprintf(row, sizeof(row), "%-*s %-9s %-9s %10s %10s", FIRST, first, verdict, dst, latency, since);
	for (end = strlen(row); end > 0 && row[end - 1] == ' '; end--)
		row[end - 1] = '\0';
	lines_print(6, "%s", row);
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
		lines_print(6, "    its last result is %" PRIu64 " s old", age_ms / 1000);
}

#define EXPIRY_WARNING_S (14 * 24 * 60 * 60)

static void print_expiry(const json_t *check)
{
	time_t expires = (time_t)number(check, "tls_expires"), left = expires - time(NULL);
	char date[16];
	struct tm utc;

	if (!expires || left > EXPIRY_WARNING_S || !gmtime_r(&expires, &utc))
		return;
	strftime(date, sizeof(date), "%Y-%m-%d", &utc);
	lines_print(6, "    a certificate of the proxy %s on %s", left < 0 ? "has expired" : "expires", date);
}

static void print_check(const json_t *check)
{
	char name[256], latency[32], since[16];
	uint64_t against = number(check, "against_verdict");
	const char *result = string(check, "result");

	snprintf(name, sizeof(name), "  %s", string(check, "check"));
	snprintf(latency, sizeof(latency), "%.1f ms", json_real_value(json_object_get(check, "latency_ms")));
	format_since(number(check, "changed"), since);
	print_row(name, string(check, "verdict"), "", latency, since);
	if (strcmp(result, "passed") != 0 || against)
		lines_print(6, "    %s: %s%s", result, string(check, "reason"),
			against ? " (this contradicts the verdict, which does not change yet)" : "");
	print_age(check, result);
	print_expiry(check);
	if (number(check, "flaps") && number(check, "held_ms"))
		lines_print(6, "    it flaps: stays unhealthy for %" PRIu64 " s more", number(check, "held_ms") / 1000);
}

static bool is_inactive(const json_t *backend)
{
	return strcmp(string(backend, "state"), "inactive") == 0;
}

static void print_backend(const json_t *backend)
{
	bool healthy = json_is_true(json_object_get(backend, "healthy"));
	const json_t *check;
	char name[80];
	size_t i;

	snprintf(name, sizeof(name), "%s %s", string(backend, "ip"), string(backend, "state"));
	print_row(name, is_inactive(backend) ? "unchecked" : string(backend, "verdict"),
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
		totals->unhealthy += strcmp(string(backend, "verdict"), "unhealthy") == 0;
		totals->unknown += strcmp(string(backend, "verdict"), "unknown") == 0;
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
	lines_print(0, "table %s: %" PRIu64 " of %" PRIu64 " backend%s healthy%s", string(table, "name"),
		totals.backends - totals.unhealthy - totals.unknown, totals.backends, text_plural(totals.backends),
		panic);
	print_row("BACKEND, CHECKS", "VERDICT", "IN DST", "LATENCY", "SINCE");
	json_array_foreach(json_object_get(table, "backends"), i, backend) print_backend(backend);
}

static void print_error(const json_t *part)
{
	if (*string(part, "error"))
		lines_print(INDENT, "%*s%s", INDENT, "", string(part, "error"));
}

static const char *director_text(const char *director)
{
	return strcmp(director, "current") == 0   ? "; the director uses the new table"
	       : strcmp(director, "stale") == 0   ? "; the director uses another table"
	       : strcmp(director, "unknown") == 0 ? "; the director does not tell which table it uses"
						  : "";
}

static void print_parts(const json_t *status)
{
	const json_t *src = json_object_get(status, "src"), *dst = json_object_get(status, "dst");
	const json_t *reload = json_object_get(status, "reload");

	lines_print(INDENT, "src     %s: loaded %" PRIu64 " time%s, refused %" PRIu64 " time%s", string(src, "file"),
		number(src, "loads"), text_plural(number(src, "loads")), number(src, "refused"),
		text_plural(number(src, "refused")));
	print_error(src);
	lines_print(INDENT, "dst     %s: written %" PRIu64 " time%s, failed %" PRIu64 " time%s", string(dst, "file"),
		number(dst, "writes"), text_plural(number(dst, "writes")), number(dst, "failed"),
		text_plural(number(dst, "failed")));
	print_error(dst);
	lines_print(INDENT, "reload  %s: run %" PRIu64 " time%s, failed %" PRIu64 " time%s%s", string(reload, "state"),
		number(reload, "runs"), text_plural(number(reload, "runs")), number(reload, "failed"),
		text_plural(number(reload, "failed")), director_text(string(reload, "director")));
	print_error(reload);
}

static void print_trust(const json_t *status)
{
	const json_t *trust;
	size_t i;

	json_array_foreach(json_object_get(status, "trust"), i, trust)
	{
		lines_print(INDENT, "trust   %s: loaded %" PRIu64 " time%s, refused %" PRIu64 " time%s",
			string(trust, "file"), number(trust, "loads"), text_plural(number(trust, "loads")),
			number(trust, "refused"), text_plural(number(trust, "refused")));
		print_error(trust);
	}
}

static bool trust_has_error(const json_t *status)
{
	const json_t *trust;
	size_t i;

	json_array_foreach(json_object_get(status, "trust"), i, trust)
	{
		if (*string(trust, "error"))
			return true;
	}
	return false;
}

static bool has_error(const json_t *status, const char *part)
{
	return *string(json_object_get(status, part), "error");
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
	fputs(has_error(status, "src") ? ", src refused" : "", to);
	fputs(has_error(status, "dst") ? ", dst not written" : "", to);
	fputs(has_error(status, "reload") ? ", reload failed" : "", to);
	fputs(trust_has_error(status) ? ", trusted certificates refused" : "", to);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
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
	const json_t *table;
	size_t i;

	lines_print(0, "glb-healthcheck %s: %s", string(status, "version"),
		!problems   ? "out of memory"
		: *problems ? problems + 2
			    : "all backends healthy");
	free(problems);
	print_parts(status);
	print_trust(status);
	json_array_foreach(json_object_get(status, "tables"), i, table) print_table(table);
}
