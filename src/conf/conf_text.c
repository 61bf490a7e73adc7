/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/conf_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/file.h"
#include "conf/conf_syntax.h"

#define MAX_INCLUDES  10 /* nested; libconfig reports more */
#define MAX_FILE_SIZE (1 << 20) /* bytes; much more than any configuration needs */

char *conf_text_read(const char *path, struct faults *faults, int *error)
{
	char *text;
	size_t size;

	*error = file_read(path, "a configuration", MAX_FILE_SIZE, &text, &size, faults);
	if (*error || strlen(text) == size)
		return text;
	*error = -EILSEQ;
	faults_error(faults, NULL, "cannot be read: it has a NUL byte, so it is not a text file");
	free(text);
	return NULL;
}

/* Tells what to do about an error that nothing explains. */
static const char *hint(const char *text, int line)
{
	if (text[strspn(text, " \t\r\n")] == '{')
		return "; this looks like JSON, but the syntax is: key = value; if it is a file of GLB, convert it with glb-director-cli migrate";
	while (--line > 0 && strchr(text, '\n'))
		text = strchr(text, '\n') + 1;
	for (; *text && *text != '\n'; text++)
		if ((unsigned char)*text >= 0x80)
			return "; the line has a character that is not ASCII, such as a no-break space of a web page: type its spaces and quotes again";
	return "; the syntax is: key = value;";
}

/* Explains libconfig's error in `text`, or else repeats it. */
static void add_error(const char *text, struct faults *faults, const char *file, const config_t *config)
{
	bool duplicate = strcmp(config_error_text(config), "duplicate setting name") == 0;
	int line = config_error_line(config), found;
	char error[512];

	found = duplicate ? conf_syntax_explain_duplicate(text, line, error, sizeof(error))
			  : conf_syntax_explain(text, line, error, sizeof(error));
	faults_error_at(faults, &(struct faults_place){.file = file, .line = found ? found : line}, "%s%s",
		found ? error : config_error_text(config), found ? "" : hint(text, line));
}

void conf_text_error(const char *text, struct faults *faults, const config_t *config)
{
	const char *included = config_error_file(config); /* as @include names it */
	const char *folder = included && included[0] != '/' ? config->include_dir : NULL;
	struct faults ignored = {0};
	char *path, *included_text;
	int error;

	if (!included) {
		add_error(text, faults, conf_text_name(faults), config);
		return;
	}
	if (asprintf(&path, "%s%s%s", folder ? folder : "", folder ? "/" : "", included) < 0)
		path = NULL; /* then the error has no explanation */
	included_text = path ? conf_text_read(path, &ignored, &error) : NULL;
	add_error(included_text ? included_text : "", faults, path ? path : included, config);
	free(included_text);
	free(path);
	faults_clear(&ignored);
}

/* A text that is checked: the configuration, or a file that it includes. */
struct source {
	const char *text, *name, *folder;
	unsigned depth;
	struct faults *faults;
};

/* Adds an error if the word is an integer that libconfig cuts. */
static void check_integer(const struct source *source, const struct conf_syntax *word)
{
	const char *at = word->item + (*word->item == '-' || *word->item == '+');
	bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X'), fits;
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*at))
		return;
	errno = 0;
	value = strtoull(at, &end, hex ? 16 : 10);
	fits = errno == 0 && value <= (unsigned long long)(*end == 'L' ? INT64_MAX : INT32_MAX);
	end += strspn(end, "L");
	if (!fits && end == word->item + word->size)
		faults_error_at(source->faults, &(struct faults_place){.file = source->name, .line = word->item_line},
			"'%.*s' does not fit an integer", (int)(word->size < 48 ? word->size : 48), word->item);
}

/* Returns the path in `@include "PATH"`, relative to the folder. NULL: there is none, which libconfig reports. The
 * caller frees it. */
static char *include_path(const struct source *source, const struct conf_syntax *include)
{
	const char *at = strchr(include->item, '"'), *end = include->item + include->size;
	char *path = malloc(strlen(source->folder) + include->size + 2), *to;

	if (!path || !at || ++at >= end) {
		free(path);
		return NULL;
	}
	to = *at == '/' ? path : path + sprintf(path, "%s/", source->folder);
	for (; at < end && *at != '"'; at++) {
		if (*at == '\\' && at + 1 < end)
			at++;
		*to++ = *at;
	}
	*to = '\0';
	return path;
}

static void check_text(const struct source *source);

static void check_include(const struct source *source, const struct conf_syntax *include)
{
	char *path = include_path(source, include), *text = NULL;
	struct faults own = {.file = path};
	int error;

	if (path)
		text = conf_text_read(path, &own, &error);
	if (text)
		check_text(&(struct source){text, path, source->folder, source->depth + 1, source->faults});
	else if (path)
		faults_error_at(source->faults, &(struct faults_place){.file = source->name, .line = include->item_line},
			"@include: %s", faults_first_error(&own));
	faults_clear(&own);
	free(text);
	free(path);
}

/* A word where a value is expected may be a key to the walker, because @include can be anywhere. No key is a number. */
static void check_text(const struct source *source)
{
	struct conf_syntax syntax = {.at = source->text, .line = 1};

	while (conf_syntax_next(&syntax)) {
		if (syntax.kind == CONF_SYNTAX_INCLUDE && source->depth < MAX_INCLUDES)
			check_include(source, &syntax);
		else if (syntax.kind == CONF_SYNTAX_VALUE || syntax.kind == CONF_SYNTAX_KEY)
			check_integer(source, &syntax);
	}
}

bool conf_text_check(const char *text, const char *folder, struct faults *faults)
{
	size_t errors = faults->errors;

	check_text(&(struct source){text, conf_text_name(faults), folder, 0, faults});
	return faults->errors == errors;
}
