/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/conf_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"

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

void conf_text_error(const char *text, struct faults *faults, const config_t *config)
{
	bool json = text[strspn(text, " \t\r\n")] == '{';
	const char *included = config_error_file(config);

	faults_error_at(faults,
		&(struct faults_place){
			.file = included ? included : conf_text_name(faults), .line = config_error_line(config)},
		"%s%s", config_error_text(config), json ? "; this looks like JSON, but the syntax is: key = value;" : "");
}

/* Returns the end of the string, comment or name that begins at `at`; `at` itself if none begins there. */
static const char *skip_token(const char *at)
{
	const char *end;

	if (*at == '"') {
		for (at++; *at && *at != '"'; at++)
			if (*at == '\\' && at[1])
				at++;
		return *at ? at + 1 : at;
	}
	if (*at == '#' || (at[0] == '/' && at[1] == '/'))
		return at + strcspn(at, "\n");
	if (at[0] == '/' && at[1] == '*') {
		end = strstr(at + 2, "*/");
		return end ? end + 2 : at + strlen(at);
	}
	if (isalpha((unsigned char)*at) || *at == '*')
		while (*at && (isalnum((unsigned char)*at) || strchr("-_*", *at)))
			at++;
	return at;
}

/* Checks the number at `at` and returns its end. */
static const char *check_integer(const char *at, int line, struct faults *faults)
{
	bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
	char *end;
	unsigned long long value = strtoull(at, &end, hex ? 16 : 10);

	if (*end == '.' || *end == 'e' || *end == 'E') {
		strtod(at, &end);
	} else if (*end != 'L' && value > INT32_MAX) {
		faults_error_at(faults, &(struct faults_place){.file = conf_text_name(faults), .line = line},
			"'%.*s' does not fit an integer", (int)(end - at < 48 ? end - at : 48), at);
	}
	return end + strspn(end, "L");
}

bool conf_text_check_integers(const char *text, struct faults *faults)
{
	size_t errors = faults->errors;
	int line = 1;

	while (*text) {
		const char *end = skip_token(text);

		if (isdigit((unsigned char)*text))
			end = check_integer(text, line, faults);
		else if (end == text)
			end++;
		for (; text < end; text++)
			line += *text == '\n';
	}
	return faults->errors == errors;
}
