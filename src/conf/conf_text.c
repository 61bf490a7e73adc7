/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/conf_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_SIZE (1 << 20) /* far beyond any configuration */

char *conf_text_read(const char *path, struct faults *faults, int *error)
{
	struct stat status;
	char *text = NULL;
	size_t size;
	/* O_NONBLOCK: a FIFO is refused, not waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file || fstat(fileno(file), &status) < 0)
		*error = -errno;
	else if (!S_ISREG(status.st_mode))
		*error = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
	else if (status.st_size > MAX_FILE_SIZE)
		*error = -EFBIG;
	else if (!(text = malloc(MAX_FILE_SIZE + 1)))
		*error = -ENOMEM;
	if (text) {
		size = fread(text, 1, MAX_FILE_SIZE, file);
		text[size] = '\0';
		*error = ferror(file) ? -EIO : 0;
		if (*error == 0 && strlen(text) != size)
			*error = -EILSEQ;
	}
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	if (*error == 0)
		return text;
	free(text);
	faults_error(faults, NULL, "cannot be read: %s",
		*error == -EINVAL   ? "not a regular file"
		: *error == -EILSEQ ? "it has a NUL byte: not a text"
				    : strerror(-*error));
	return NULL;
}

void conf_text_error(const char *text, struct faults *faults, const config_t *config)
{
	bool json = text[strspn(text, " \t\r\n")] == '{';
	const char *included = config_error_file(config);

	faults_error_at(faults,
		&(struct faults_place){
			.file = included ? included : conf_text_name(faults), .line = config_error_line(config)},
		"%s%s", config_error_text(config), json ? "; this looks like JSON, write key = value;" : "");
}

/* Behind the string, comment or name that begins at `at`; at itself where none does. */
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

/* Behind the number at `at`. */
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
