/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "conf/conf_argv.h"
#include "program/child.h"

#define OUTPUT_MAX       1024 /* of a command that sets */
#define CHECK_OUTPUT_MAX (4 << 20)

static char **expand(char *const *arguments, const struct netprefix *prefix)
{
	size_t count = 0;
	char **expanded;

	while (arguments[count])
		count++;
	expanded = calloc(count + 1, sizeof(*expanded));
	for (size_t i = 0; expanded && i < count; i++) {
		expanded[i] = driver_conf_expand(arguments[i], prefix, DRIVER_PLAIN);
		if (expanded[i])
			continue;
		conf_argv_free(expanded);
		return NULL;
	}
	return expanded;
}

/* Returns the last line that has text, because programs print greetings first. */
static const char *last_line(char *output)
{
	size_t size = strlen(output);
	char *line;

	while (size && strchr(" \t\r\n", output[size - 1]))
		output[--size] = '\0';
	line = strrchr(output, '\n');
	return line ? line + 1 : output;
}

struct printed {
	char *text;
	size_t size, used;
};

/* Drops the rest of a long output, so that the program does not wait for a reader. */
static bool take(void *data, const char *bytes, size_t size)
{
	struct printed *printed = data;
	size_t room = printed->size - 1 - printed->used;

	memcpy(printed->text + printed->used, bytes, size < room ? size : room);
	printed->used += size < room ? size : room;
	return true;
}

/*
 * Runs a program of the driver file with `input` (NULL: nothing) on stdin. output: what it printed, cut to the size,
 * with NUL at the end. Returns its exit code; 128 and the number of the signal that killed it; or -errno: it could not
 * be started, or -ETIMEDOUT. Blocks at most for the timeout and a second.
 */
static int run_program(char *const argv[], const char *input, unsigned timeout_ms, char *output, size_t size)
{
	const struct child_plan plan = {.run = child_run_program, .data = argv, .input = input};
	struct printed printed = {.text = output, .size = size};
	struct child_failure failure;
	struct child child;
	int error, status;

	/* Processes that did not end in time after they were killed. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	error = child_start(&child, &plan);
	if (!error) {
		error = child_wait(&child, timeout_ms, take, &printed, &status);
		if (child_failed(&child, &failure))
			printed.used = (size_t)snprintf(output, size, "it %s", failure.text);
		child_close(&child);
	}
	output[printed.used] = '\0';
	if (error)
		return error;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs the command, and explains a failure. Returns what run_program() returns. */
static int driver_run(char *const argv[], const char *input, unsigned timeout_ms, char *output, size_t size,
	char error[DRIVER_ERROR_MAX])
{
	int code = run_program(argv, input, timeout_ms, output, size);

	if (code == 0)
		return 0;
	if (code == -ETIMEDOUT)
		snprintf(error, DRIVER_ERROR_MAX, "%s was killed, because it did not end within %u ms", argv[0],
			timeout_ms);
	else if (code < 0)
		snprintf(error, DRIVER_ERROR_MAX, "%s could not be started: %s", argv[0], strerror(-code));
	else if (code > 128)
		snprintf(error, DRIVER_ERROR_MAX, "%s was killed by signal %d", argv[0], code - 128);
	else
		snprintf(error, DRIVER_ERROR_MAX, "%s failed with exit code %d: %.160s", argv[0], code,
			last_line(output));
	text_mend(error); /* a character may be cut */
	return code;
}

/* Writes a line to the pipe, completely or not at all. Does not wait for its reader. */
static bool write_line(const struct driver_conf *conf, const char *text, char error[DRIVER_ERROR_MAX])
{
	int fd = open(conf->pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat file;
	bool is_pipe, done = false;
	char *line = NULL;

	if (fd < 0) {
		snprintf(error, DRIVER_ERROR_MAX, "%s: %s", conf->pipe,
			errno == ENXIO ? "nobody reads this pipe" : strerror(errno));
		return false;
	}
	is_pipe = fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode);
	if (!is_pipe)
		snprintf(error, DRIVER_ERROR_MAX, "%s: is not a pipe", conf->pipe);
	else if (asprintf(&line, "%s\n", text) < 0)
		snprintf(error, DRIVER_ERROR_MAX, "out of memory");
	else if (!(done = write(fd, line, strlen(line)) == (ssize_t)strlen(line)))
		snprintf(error, DRIVER_ERROR_MAX, "%s: cannot be written: its reader has stopped reading", conf->pipe);
	free(line);
	close(fd);
	return done;
}

static bool set_by_pipe(
	const struct driver_conf *conf, const struct netprefix *prefix, bool announce, char error[DRIVER_ERROR_MAX])
{
	char *text = driver_conf_expand(announce ? conf->announce_line : conf->withdraw_line, prefix, DRIVER_PLAIN);
	bool done = false;

	if (text)
		done = write_line(conf, text, error);
	else
		snprintf(error, DRIVER_ERROR_MAX, "out of memory");
	free(text);
	return done;
}

/* FRR refuses to withdraw what it does not announce, for instance after it was restarted. */
static bool is_known_withdrawn(const struct driver_conf *conf, const struct netprefix *prefix)
{
	char error[DRIVER_ERROR_MAX], *printed = conf->check ? driver_check(conf, error) : NULL;
	bool withdrawn = printed && !driver_is_announced(conf, prefix, printed);

	free(printed);
	return withdrawn;
}

static bool set_by_command(
	const struct driver_conf *conf, const struct netprefix *prefix, bool announce, char error[DRIVER_ERROR_MAX])
{
	char **argv = expand(announce ? conf->announce : conf->withdraw, prefix), output[OUTPUT_MAX];
	int code = -ENOMEM;

	if (argv)
		code = driver_run(argv, NULL, conf->timeout_ms, output, sizeof(output), error);
	else
		snprintf(error, DRIVER_ERROR_MAX, "out of memory");
	conf_argv_free(argv);
	return code == 0 || (code > 0 && !announce && is_known_withdrawn(conf, prefix));
}

bool driver_set(
	const struct driver_conf *conf, const struct netprefix *prefix, bool announce, char error[DRIVER_ERROR_MAX])
{
	return (conf->pipe ? set_by_pipe : set_by_command)(conf, prefix, announce, error);
}

char *driver_check(const struct driver_conf *conf, char error[DRIVER_ERROR_MAX])
{
	char *output = malloc(CHECK_OUTPUT_MAX);

	if (!output)
		snprintf(error, DRIVER_ERROR_MAX, "out of memory");
	else if (driver_run(conf->check, NULL, conf->timeout_ms, output, CHECK_OUTPUT_MAX, error) == 0) {
		if (strlen(output) < CHECK_OUTPUT_MAX - 1)
			return output;
		snprintf(error, DRIVER_ERROR_MAX, "%s printed more than 4 MiB: write a check that prints the VIPs only",
			conf->check[0]);
	}
	free(output);
	return NULL;
}

bool driver_is_announced(const struct driver_conf *conf, const struct netprefix *prefix, const char *printed)
{
	char *pattern = driver_conf_expand(conf->announced, prefix, DRIVER_REGEX);
	regex_t regex;
	bool found = false;

	if (pattern && regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB | REG_NEWLINE) == 0) {
		found = regexec(&regex, printed, 0, NULL, 0) == 0;
		regfree(&regex);
	}
	free(pattern);
	return found;
}

/* Notes which prefixes are announced. Returns false if the check failed. */
static bool find_announced(const struct driver_conf *conf, const struct netprefix *prefixes, size_t count,
	bool *announced, char error[DRIVER_ERROR_MAX])
{
	char *printed = driver_check(conf, error);

	for (size_t i = 0; printed && i < count; i++)
		announced[i] = driver_is_announced(conf, &prefixes[i], printed);
	free(printed);
	return printed;
}

/* Writes the lines for the prefixes that are not as they should be. Returns NULL: out of memory. */
static char *write_lines(
	const char *line, const struct netprefix *prefixes, size_t count, const bool *announced, bool announce)
{
	char *lines = NULL;
	size_t size;
	FILE *out = open_memstream(&lines, &size);
	bool good = out;

	for (size_t i = 0; good && i < count; i++) {
		char *text = announced[i] == announce ? NULL : driver_conf_expand(line, &prefixes[i], DRIVER_PLAIN);

		good = announced[i] == announce || (text && fprintf(out, "%s\n", text) > 0);
		free(text);
	}
	if (out && fclose(out) == 0 && good)
		return lines;
	free(lines);
	return NULL;
}

bool driver_set_batch(const struct driver_conf *conf, const struct netprefix *prefixes, size_t count, bool announce,
	bool *done, char error[DRIVER_ERROR_MAX])
{
	bool *before = calloc(count, sizeof(*before)), ended = true;
	const char *line = announce ? conf->announce_line : conf->withdraw_line;
	char *lines = NULL, output[OUTPUT_MAX], unused[DRIVER_ERROR_MAX];

	memset(done, 0, count * sizeof(*done));
	snprintf(error, DRIVER_ERROR_MAX, "out of memory");
	if (before && find_announced(conf, prefixes, count, before, error))
		lines = write_lines(line, prefixes, count, before, announce);
	if (lines && *lines) {
		/* Its exit code does not tell which lines failed. */
		ended = driver_run(conf->batch, lines, conf->timeout_ms, output, sizeof(output), error) >= 0;
		if (!find_announced(conf, prefixes, count, done, unused))
			memcpy(done, before, count * sizeof(*done));
		for (size_t i = 0; i < count; i++)
			done[i] = done[i] == announce && before[i] != announce;
	}
	ended &= lines != NULL;
	free(lines);
	free(before);
	return ended;
}
