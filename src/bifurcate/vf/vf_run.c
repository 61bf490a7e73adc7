/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program/output_of.h"

#define MAX_WORDS 48

static int write_value(const char *command, struct faults *faults)
{
	const char *arrow = strstr(command, "> "), *value = command + strlen("echo");
	char line[64];
	ssize_t wrote = -1;
	int size, fd, error = 0;

	value += *value == ' ' && value + 1 < arrow;
	size = snprintf(line, sizeof(line), "%.*s\n", (int)(arrow - value - (arrow > value)), value);
	fd = open(arrow + 2, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		wrote = write(fd, line, (size_t)size);
	if (wrote != size)
		error = wrote < 0 ? -errno : -EIO;
	if (fd >= 0)
		close(fd);
	if (error)
		faults_error(faults, NULL, "'%s' failed: %s%s", command, strerror(-error),
			error == -EACCES || error == -EPERM ? ": run this as root" : "");
	return error;
}

/* The last line that a program printed says best why it failed. */
static const char *last_line(char *text)
{
	char *end = text ? text + strlen(text) : NULL, *newline;

	while (end > text && end[-1] == '\n')
		*--end = '\0';
	newline = text ? strrchr(text, '\n') : NULL;
	return newline ? newline + 1 : text;
}

static int run_program(const char *command, struct faults *faults)
{
	char *words[MAX_WORDS + 1] = {NULL}, *copy = strdup(command), *rest = copy, *text = NULL;
	const char *reason;
	size_t size = 0;
	int error;

	for (size_t i = 0; copy && i < MAX_WORDS && (words[i] = strsep(&rest, " ")); i++)
		;
	error = copy ? output_of_both(words, &text, &size) : -ENOMEM;
	reason = last_line(text);
	if (error == -ENOENT)
		faults_error(
			faults, NULL, "'%s' failed: there is no program '%s': install its package", command, words[0]);
	else if (error == -ETIMEDOUT)
		faults_error(faults, NULL,
			"'%s' failed: %s; the card may still have done it: try again, which goes on from there",
			command, output_of_reason(error));
	else if (error)
		faults_error(
			faults, NULL, "'%s' failed: %s", command, reason && *reason ? reason : output_of_reason(error));
	free(text);
	free(copy);
	return error;
}

int vf_run(const char *command, struct faults *faults)
{
	return strncmp(command, "echo", 4) == 0 ? write_value(command, faults) : run_program(command, faults);
}
