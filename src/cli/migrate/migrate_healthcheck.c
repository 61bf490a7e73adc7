/* SPDX-License-Identifier: BSD-3-Clause */
/* healthcheck.conf */
#include <stdlib.h>
#include <string.h>

#include "cli/check/check_healthcheck.h"
#include "cli/migrate/migrate.h"

#define WRITABLE  "/var/lib/glb/" /* by the systemd unit */
#define MAX_WORDS 8

static bool matches(const struct migration *migration)
{
	return json_object_get(migration->root, "forwarding_table");
}

/* The words of a command that starts no shell syntax but `&&`. */
struct words {
	char *text; /* owned; the words are in it */
	char *word[MAX_WORDS];
	int count;
};

/* False: too many words, or syntax of the shell. The caller frees words->text in both cases. */
static bool split(const char *command, struct words *words)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@:-+&= \t";
	char *rest, *word;

	*words = (struct words){.text = strdup(command)};
	if (!words->text || command[strspn(command, plain)] != '\0')
		return false;
	for (rest = words->text; (word = strtok_r(NULL, " \t", &rest)); words->word[words->count++] = word)
		if (words->count == MAX_WORDS)
			return false;
	return true;
}

static bool is_program(const char *word, const char *name)
{
	const char *slash = strrchr(word, '/');

	return strcmp(slash ? slash + 1 : word, name) == 0;
}

/* GLB's packaged command: `glb-director-cli build-config DST BIN && systemctl reload UNIT`. */
static bool builds_and_reloads(const struct words *words, const char *dst)
{
	char *const *word = words->word;

	return words->count == 8 && is_program(word[0], "glb-director-cli") && strcmp(word[1], "build-config") == 0 &&
	       strcmp(word[2], dst) == 0 && word[3][0] != '-' && strcmp(word[4], "&&") == 0 &&
	       is_program(word[5], "systemctl") && strcmp(word[6], "reload") == 0 && word[7][0] != '-';
}

static bool is_writable(const char *path)
{
	return strncmp(path, WRITABLE, strlen(WRITABLE)) == 0;
}

/* Clears *writable if glb-healthcheck must build a table where its unit may not write. */
static void put_reload(struct migration *migration, const char *dst, bool *writable)
{
	json_t *command = json_object_get(migration->root, "reload_command");
	struct words words;

	if (!command || json_is_null(command))
		return;
	if (!json_is_string(command)) {
		faults_error(&migration->errors, "reload_command", "is not a text");
		return;
	}
	if (split(json_string_value(command), &words) && builds_and_reloads(&words, dst)) {
		const char *unit = words.word[7];

		fprintf(migration->to, "reload = {\n\tbuild = \"%s\";\n\tnotify = \"%s%s\";\n};\n", words.word[3], unit,
			strchr(unit, '.') ? "" : ".service");
		faults_warn(&migration->notes, "reload_command",
			"`reload` takes its place: glb-healthcheck builds the table and reloads the unit without a shell");
		*writable &= is_writable(words.word[3]);
	} else {
		fputs("reload_command = ", migration->to);
		migrate_put_value(migration, "reload_command", command);
		fputs(";\n", migration->to);
	}
	free(words.text);
}

static const char *put_path(struct migration *migration, json_t *table, const char *name)
{
	const json_t *path = json_object_get(table, name);
	char where[64];

	snprintf(where, sizeof(where), "forwarding_table.%s", name);
	if (!json_is_string(path)) {
		faults_error(&migration->errors, where, "missing, or not the path of a JSON table");
		return "";
	}
	fprintf(migration->to, "\t%s = ", name);
	migrate_put_value(migration, where, path);
	fputs(";\n", migration->to);
	return json_string_value(path);
}

static void convert(struct migration *migration)
{
	static const char *const known[] = {"forwarding_table", "reload_command", NULL};
	static const char *const paths[] = {"src", "dst", NULL};
	json_t *table = json_object_get(migration->root, "forwarding_table");
	const char *dst;
	bool writable;

	fputs("# Converted from a healthcheck.conf of GitHub's GLB Director. glb-healthcheck.conf(5) has all keys.\n\n"
	      "forwarding_table = {\n",
		migration->to);
	put_path(migration, table, "src");
	dst = put_path(migration, table, "dst");
	fputs("};\n", migration->to);
	writable = is_writable(dst);
	put_reload(migration, dst, &writable);
	if (!writable)
		faults_warn(&migration->notes, "forwarding_table.dst",
			"the unit of glb-healthcheck may write only below " WRITABLE
			": move dst and the built table there, or set ReadWritePaths with `systemctl edit glb-healthcheck`");
	fputs("\n# The health checks of GLB put a GRE header into fou checks.\nfou_gre = true;\n", migration->to);
	faults_warn(&migration->notes, "panic_threshold",
		"is new: if less than half of a table's backends are healthy, all count as healthy; panic_threshold = 0 does as GLB does");
	faults_warn(&migration->notes, "max_shrink",
		"is new: a src in which a table loses all binds, or more than half of its backends, is refused; max_shrink = 100 permits any share of backends");
	faults_warn(&migration->notes, "listen",
		"GLB serves /health and /debug/vars on port 19520; here it is /status and /metrics, on port 19521");
	migrate_note_unknown(migration, "forwarding_table", table, paths);
	migrate_note_unknown(migration, NULL, migration->root, known);
}

const struct migrate_kind migrate_healthcheck = {"healthcheck.conf", matches, convert, check_healthcheck, true};
