/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/migrate/migrate.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "common/file/file.h"

#define MAX_SIZE ((size_t)64 << 20) /* bytes, as for a table */

enum { NAMES };

static const struct command_option options[] = {
	[NAMES] = {"names", NULL, "name the tables that have no name"},
	{0},
};

static const struct migrate_kind *const kinds[] = {
	&migrate_table, &migrate_healthcheck, &migrate_director, &migrate_environment};

void migrate_put_value(struct migration *migration, const char *where, const json_t *value)
{
	FILE *to = migration->to;

	if (json_is_integer(value)) {
		fprintf(to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	} else if (json_is_real(value)) {
		fprintf(to, "%g", json_real_value(value));
	} else if (json_is_boolean(value)) {
		fputs(json_is_true(value) ? "true" : "false", to);
	} else if (json_is_string(value)) {
		fputc('"', to);
		for (const char *c = json_string_value(value); *c; c++) {
			if (iscntrl((unsigned char)*c))
				fprintf(to, "\\x%02x", (unsigned)(unsigned char)*c);
			else
				fprintf(to, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
		}
		fputc('"', to);
	} else {
		faults_error(&migration->errors, where, "is neither a text nor a number, true or false");
	}
}

const char *migrate_value_text(const json_t *value, char buf[JSON_READER_TEXT_MAX])
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	json_reader_text(text ? text : "", 120, buf);
	free(text);
	return buf;
}

void migrate_note_unknown(struct migration *migration, const char *where, json_t *object, const char *const *known)
{
	char shown[JSON_READER_TEXT_MAX], text[JSON_READER_TEXT_MAX];
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		const char *const *name = known;

		while (*name && strcmp(*name, key) != 0)
			name++;
		if (!*name)
			faults_warn(&migration->notes, where,
				"'%s' is left out: GLB does not know this key, and ignores it; its value is %s",
				json_reader_text(key, 64, shown), migrate_value_text(value, text));
	}
}

/* Parses the text if it looks like JSON. False: it is not JSON, and an error says why. */
static bool parse(struct migration *migration)
{
	const char *start = migration->text + strspn(migration->text, " \t\r\n");

	return (*start != '{' && *start != '[') ||
	       json_reader_parse(migration->text, migration->size, &migration->root, &migration->errors) == 0;
}

static const struct migrate_kind *find_kind(struct migration *migration)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i]->matches(migration))
			return kinds[i];
	if (strncmp(migration->text, "GLBD", 4) == 0)
		faults_error(&migration->errors, NULL,
			"is a binary table, which needs no conversion: the director reads those of GLB");
	else if (migration->root)
		faults_error(&migration->errors, NULL,
			"is JSON, but no file of GLB: a table has \"tables\", director.conf has \"outbound_src_ip\", healthcheck.conf has \"forwarding_table\"");
	else
		faults_error(&migration->errors, NULL,
			"is no file of GLB: it is neither JSON, nor sets GLB_DIRECTOR_EAL_ARGS; files with `key = value;` are converted already");
	return NULL;
}

/* Reads the result from a file that exists only in memory. The lines in its faults are those of the result, which the
 * label says. */
static void check_result(
	const struct migrate_kind *kind, struct migration *migration, const char *from, const char *text, size_t size)
{
	bool same = size == migration->size && memcmp(text, migration->text, size) == 0;
	char label[PATH_MAX + 32], path[64];
	int fd = memfd_create("result", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(label, sizeof(label), "%s%s", from, same ? "" : ", converted");
	migration->errors.file = label;
	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		faults_error(&migration->errors, NULL, "cannot be checked: %s", strerror(errno));
	else
		kind->read(path, &migration->errors);
	if (fd >= 0)
		close(fd);
	migration->errors.file = from;
}

/* Writes the result to the new file `path`, or to standard output if that is NULL. */
static void write_result(struct migration *migration, const char *from, const char *path, const char *text, size_t size)
{
	struct stat info;

	if (!path) {
		fwrite(text, 1, size, stdout); /* command_main() reports an error */
	} else if (lstat(path, &info) == 0) {
		migration->errors.file = path;
		faults_error(&migration->errors, NULL, "exists, and migrate never replaces a file: name a new one");
	} else {
		migration->errors.file = path;
		file_replace(path, from, text, size, &migration->errors);
	}
}

struct comments {
	FILE *to;
	size_t prefix; /* bytes of the name of the file, which the comments leave out */
};

static void put_comment(void *context, bool, const char *text)
{
	const struct comments *comments = context;

	fprintf(comments->to, "# - %s\n", text + comments->prefix);
}

static void put_notes(struct migration *migration)
{
	struct comments comments = {migration->to, strlen(migration->notes.file) + strlen(": ")};

	fputs("\n# Notes of the conversion:\n", migration->to);
	faults_report(&migration->notes, FAULTS_WARNINGS, put_comment, &comments);
}

static const struct migrate_kind *convert(struct migration *migration, const char *from, const char *path)
{
	const struct migrate_kind *kind = parse(migration) ? find_kind(migration) : NULL;
	char *text = NULL;
	size_t size = 0;

	if (!kind)
		return NULL;
	migration->to = open_memstream(&text, &size);
	if (migration->to) {
		kind->convert(migration);
		if (kind->keeps_notes)
			put_notes(migration);
		if (fclose(migration->to) != 0)
			faults_error(&migration->errors, NULL, "out of memory");
	} else {
		faults_error(&migration->errors, NULL, "%s", strerror(errno));
	}
	if (migration->errors.errors == 0)
		check_result(kind, migration, from, text, size);
	if (migration->errors.errors == 0)
		write_result(migration, from, path, text, size);
	free(text);
	return kind;
}

static void print_note(void *, bool, const char *text)
{
	command_note("%s", text);
}

static int migrate_run(const struct command_args *args)
{
	const char *from = args->operands[0], *path = args->count > 1 ? args->operands[1] : NULL;
	struct migration migration = {
		.names = args->options[NAMES],
		.errors = {.file = from},
		.notes = {.file = from},
	};
	const struct migrate_kind *kind = NULL;
	bool failed;
	char *text;

	if (file_read(from, "a file of GLB", MAX_SIZE, &text, &migration.size, &migration.errors) == 0) {
		migration.text = text;
		kind = convert(&migration, from, path);
		free(text);
	}
	failed = migration.errors.errors;
	faults_report(&migration.notes, FAULTS_ALL, print_note, NULL);
	cli_print_faults(&migration.errors, FAULTS_ALL);
	faults_clear(&migration.notes);
	json_decref(migration.root);
	if (!failed && path)
		printf("%s: written, a valid %s\n", path, kind->name);
	return failed ? COMMAND_FAILED : COMMAND_OK;
}

const struct command migrate_command = {
	.name = "migrate",
	.run = migrate_run,
	.operands = "FILE [DST]",
	.summary = "Convert a file of GitHub's GLB Director",
	.options = options,
};
