/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/findings.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "program/command.h"
#include "program/member.h"

#define MAX_PRINTED 8 /* findings of one check */
#define MAX_VALUE   4096 /* bytes */

static struct {
	const char *check; /* name of the check that runs */
	json_t *items; /* objects with the keys check, level, object, text and command */
	size_t earlier; /* items of the checks before this one */
	unsigned counts[FINDINGS_FAIL + 1]; /* of items, by level */
} findings;

static const char *const levels[] = {[FINDINGS_OK] = "ok", [FINDINGS_WARN] = "warn", [FINDINGS_FAIL] = "fail"};

/* Writes the text with the object and the values in the places of their numbers. */
static void fill(FILE *to, const char *text, const char *const texts[], size_t count)
{
	for (; *text; text++) {
		size_t number = (size_t)(text[1] - '0');

		if (text[0] == '{' && number <= 9 && text[2] == '}') {
			fputs(number < count ? texts[number] : "?", to);
			text += 2;
		} else {
			putc(*text, to);
		}
	}
}

/* Returns NULL if there is no text or no memory. */
static char *filled(const char *text, const char *const texts[])
{
	char *result = NULL;
	size_t count = 0, size;
	FILE *to = text ? open_memstream(&result, &size) : NULL;

	while (texts[count])
		count++;
	if (to) {
		fill(to, text, texts, count);
		fclose(to);
	}
	/* Names and files of a host may have any bytes, but JSON and terminals want text. */
	if (result)
		text_mend(result);
	return result;
}

void findings_add_texts(const struct finding *finding, const char *const texts[])
{
	char *object = filled("{0}", texts), *text = filled(finding->text, texts),
	     *command = filled(finding->command, texts);

	findings.counts[finding->level]++;
	json_array_append_new(findings.items,
		json_pack("{s:s, s:s, s:s, s:s, s:s?}", "check", findings.check, "level", levels[finding->level],
			"object", object ? object : "", "text", text ? text : "out of memory", "command", command));
	free(object);
	free(text);
	free(command);
}

const char *findings_value(const char *format, ...)
{
	static char values[16][MAX_VALUE];
	static unsigned next;
	char *value = values[next++ % 16];
	va_list args;

	va_start(args, format);
	vsnprintf(value, MAX_VALUE, format, args);
	va_end(args);
	return value;
}

void findings_ok(const char *object, const char *format, ...)
{
	static const struct finding ok = {FINDINGS_OK, NULL, "{1}"};
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	findings_add(&ok, object, text ? text : "out of memory");
	free(text);
}

struct source {
	const char *file; /* "" if the faults do not name it */
	const char *command;
};

static void add_fault(void *context, bool warning, const char *text)
{
	const struct source *source = context;
	const struct finding fault = {
		warning ? FINDINGS_WARN : FINDINGS_FAIL, warning ? NULL : source->command, "{1}{2}"};
	size_t size = strlen(source->file);
	bool has_line = false; /* an address, too, begins with a digit */

	/* The text begins with the file, and perhaps the line, but the finding names the file already. */
	if (size && strncmp(text, source->file, size) == 0 && text[size] == ':') {
		has_line = isdigit((unsigned char)text[size + 1]);
		text += size + 1 + (text[size + 1] == ' ');
	}
	findings_add(&fault, source->file, has_line ? "line " : "", text);
}

void findings_add_faults(const struct faults *faults, enum faults_kinds kinds, const char *command)
{
	faults_report(faults, kinds, add_fault, &(struct source){faults->file ? faults->file : "", command});
}

bool findings_none(void)
{
	return json_array_size(findings.items) == findings.earlier;
}

static enum findings_level worst_of(void)
{
	for (enum findings_level level = FINDINGS_FAIL; level > FINDINGS_OK; level--)
		if (findings.counts[level])
			return level;
	return FINDINGS_OK;
}

static void print_finding(const json_t *finding)
{
	const char *object = member_text(finding, "object"), *command = member_text(finding, "command");

	command_print(6, "%-4s  %s: %s%s%s", member_text(finding, "level"), member_text(finding, "check"), object,
		*object ? ": " : "", member_text(finding, "text"));
	if (*command)
		printf("      run: %s\n", command);
}

static void print_more(const char *check, unsigned count)
{
	if (count > MAX_PRINTED)
		printf("      %s: %u more, which --json shows\n", check, count - MAX_PRINTED);
}

static void print_text(const char *subject)
{
	unsigned fails = findings.counts[FINDINGS_FAIL], warnings = findings.counts[FINDINGS_WARN], count = 0;
	const char *check = "";
	const json_t *finding;
	size_t i;

	json_array_foreach(findings.items, i, finding)
	{
		if (strcmp(check, member_text(finding, "check")) != 0) {
			print_more(check, count);
			check = member_text(finding, "check");
			count = 0;
		}
		if (++count <= MAX_PRINTED)
			print_finding(finding);
	}
	print_more(check, count);
	printf("%s: %u failure%s, %u warning%s\n", subject, fails, text_plural(fails), warnings, text_plural(warnings));
}

static void print_json(const char *key, const char *subject)
{
	json_t *json = json_pack("{s:s, s:s, s:s, s:O}", key, subject, "version", GLB_VERSION, "result",
		levels[worst_of()], "findings", findings.items);

	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(json);
}

/* Returns the exit code. */
static int print(const char *key, const char *name, bool json)
{
	static const int codes[] = {[FINDINGS_OK] = COMMAND_OK, [FINDINGS_WARN] = 1, [FINDINGS_FAIL] = FINDINGS_FAILED};

	if (json)
		print_json(key, name);
	else
		print_text(name);
	/* If stdout failed, the user saw no result, so the exit code may not be that for warnings. */
	return fflush(stdout) != 0 || ferror(stdout) ? FINDINGS_FAILED : codes[worst_of()];
}

void findings_begin(const char *name)
{
	findings.check = name;
	findings.earlier = json_array_size(findings.items);
}

int findings_run(const struct findings_check checks[], void *subject, const char *key, const char *name, bool json)
{
	int code;

	memset(&findings, 0, sizeof(findings));
	findings.items = json_array();
	for (; checks->name; checks++) {
		findings_begin(checks->name);
		if (!checks->applies || checks->applies(subject))
			checks->run(subject);
	}
	code = print(key, name, json);
	json_decref(findings.items);
	return code;
}
