/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/conf_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "conf/conf_syntax.h"

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

/* Explains libconfig's error in `text`, or else repeats it. */
static void add_error(const char *text, struct faults *faults, const char *file, const config_t *config)
{
	bool json = text[strspn(text, " \t\r\n")] == '{';
	bool duplicate = strcmp(config_error_text(config), "duplicate setting name") == 0;
	int line = config_error_line(config), found;
	char error[512];

	found = duplicate ? conf_syntax_explain_duplicate(text, line, error, sizeof(error))
			  : conf_syntax_explain(text, line, error, sizeof(error));
	faults_error_at(faults, &(struct faults_place){.file = file, .line = found ? found : line}, "%s%s",
		found ? error : config_error_text(config),
		json ? "; this looks like JSON, but the syntax is: key = value; if it is a file of GLB, convert it with glb-director-cli migrate"
		     : "");
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

/* Adds an error if the word is an integer of more than 32 bits without the suffix L. */
static void check_integer(const struct conf_syntax *word, struct faults *faults)
{
	const char *at = word->item + (*word->item == '-' || *word->item == '+');
	bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)*at))
		return;
	value = strtoull(at, &end, hex ? 16 : 10);
	if (value > INT32_MAX && end == word->item + word->size)
		faults_error_at(faults, &(struct faults_place){.file = conf_text_name(faults), .line = word->item_line},
			"'%.*s' does not fit an integer", (int)(word->size < 48 ? word->size : 48), word->item);
}

bool conf_text_check_integers(const char *text, struct faults *faults)
{
	struct conf_syntax syntax = {.at = text, .line = 1};
	size_t errors = faults->errors;

	while (conf_syntax_next(&syntax))
		if (syntax.kind == CONF_SYNTAX_VALUE)
			check_integer(&syntax, faults);
	return faults->errors == errors;
}
