/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "program/command.h"

#define MAX_PRINTED 8 /* findings of one check */

static const char *const levels[] = {[FINDINGS_OK] = "ok", [FINDINGS_WARN] = "warn", [FINDINGS_FAIL] = "fail"};

void findings_open(struct findings *findings)
{
	*findings = (struct findings){.items = json_array()};
}

void findings_close(struct findings *findings)
{
	json_decref(findings->items);
	findings->items = NULL;
}

void findings_vadd(struct findings *findings, enum findings_level level, const char *object, const char *command,
	const char *format, va_list args)
{
	char *text, *about = strdup(object), *run = command ? strdup(command) : NULL;

	findings->counts[level]++;
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	/* Names and files of a host may have any bytes, but JSON and terminals want text. */
	for (size_t i = 0; i < 3; i++) {
		char *const each[] = {text, about, run};

		if (each[i])
			text_mend(each[i]);
	}
	json_array_append_new(findings->items,
		json_pack("{s:s, s:s, s:s, s:s, s:s?}", "check", findings->check, "level", levels[level], "object",
			about ? about : "", "text", text ? text : "out of memory", "command", run));
	free(text);
	free(about);
	free(run);
}

void findings_add(struct findings *findings, enum findings_level level, const char *object, const char *command,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	findings_vadd(findings, level, object, command, format, args);
	va_end(args);
}

static enum findings_level worst_of(const struct findings *findings)
{
	for (enum findings_level level = FINDINGS_FAIL; level > FINDINGS_OK; level--)
		if (findings->counts[level])
			return level;
	return FINDINGS_OK;
}

/* Returns the name of the worst level: "ok", "warn" or "fail". */
static const char *findings_result(const struct findings *findings)
{
	return levels[worst_of(findings)];
}

static const char *text_of(const json_t *finding, const char *key)
{
	const char *text = json_string_value(json_object_get(finding, key));

	return text ? text : "";
}

static void print_finding(const json_t *finding)
{
	const char *object = text_of(finding, "object"), *command = text_of(finding, "command");

	command_print(6, "%-4s  %s: %s%s%s", text_of(finding, "level"), text_of(finding, "check"), object,
		*object ? ": " : "", text_of(finding, "text"));
	if (*command)
		printf("      run: %s\n", command);
}

static void print_more(const char *check, unsigned count)
{
	if (count > MAX_PRINTED)
		printf("      %s: %u more, which --json shows\n", check, count - MAX_PRINTED);
}

static void print_text(const struct findings *findings, const char *subject)
{
	unsigned fails = findings->counts[FINDINGS_FAIL], warnings = findings->counts[FINDINGS_WARN], count = 0;
	const char *check = "";
	const json_t *finding;
	size_t i;

	json_array_foreach(findings->items, i, finding)
	{
		if (strcmp(check, text_of(finding, "check")) != 0) {
			print_more(check, count);
			check = text_of(finding, "check");
			count = 0;
		}
		if (++count <= MAX_PRINTED)
			print_finding(finding);
	}
	print_more(check, count);
	printf("%s: %u failure%s, %u warning%s\n", subject, fails, text_plural(fails), warnings, text_plural(warnings));
}

static void print_json(const struct findings *findings, const char *key, const char *subject)
{
	json_t *json = json_pack("{s:s, s:s, s:s, s:O}", key, subject, "version", GLB_VERSION, "result",
		findings_result(findings), "findings", findings->items);

	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(json);
}

int findings_print(const struct findings *findings, const char *key, const char *subject, bool json)
{
	static const int codes[] = {[FINDINGS_OK] = COMMAND_OK, [FINDINGS_WARN] = 1, [FINDINGS_FAIL] = FINDINGS_FAILED};

	if (json)
		print_json(findings, key, subject);
	else
		print_text(findings, subject);
	/* If stdout failed, the user saw no result, so the exit code may not be that for warnings. */
	return fflush(stdout) != 0 || ferror(stdout) ? FINDINGS_FAILED : codes[worst_of(findings)];
}
