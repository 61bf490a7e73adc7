/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/output_of.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "program/child.h"

struct printed {
	char *text; /* ends with NUL */
	size_t size, room;
	bool no_memory;
};

/* Doubles the room, because realloc() may copy all that there is. */
static bool take(void *data, const char *bytes, size_t size)
{
	struct printed *printed = data;
	size_t needed = printed->size + size + 1;
	char *moved = printed->text;

	if (needed > printed->room) {
		moved = realloc(printed->text, 2 * needed);
		printed->no_memory = !moved;
		if (!moved)
			return false;
		printed->text = moved;
		printed->room = 2 * needed;
	}
	memcpy(moved + printed->size, bytes, size);
	printed->size += size;
	moved[printed->size] = '\0';
	return printed->size <= OUTPUT_OF_MAX;
}

static int error_of(int status)
{
	if (WIFSIGNALED(status))
		return -(OUTPUT_OF_SIGNAL + WTERMSIG(status));
	if (WEXITSTATUS(status) == 127)
		return -ENOENT;
	return WEXITSTATUS(status) ? -EIO : 0;
}

static int output_of_run(char *const words[], bool both, char **text, size_t *size)
{
	const struct child_plan plan = {.run = child_run_tool, .data = words, .drop_errors = !both};
	struct printed printed = {.text = strdup("")};
	struct child_failure failure;
	struct child child;
	int error = printed.text ? child_start(&child, &plan) : -ENOMEM, status;

	if (!error) {
		error = child_wait(&child, OUTPUT_OF_TIMEOUT_S * 1000, take, &printed, &status);
		if (!error)
			error = child_failed(&child, &failure) ? -failure.error : error_of(status);
		else if (printed.no_memory)
			error = -ENOMEM;
		child_close(&child);
	}
	if (error && !(both && error == -EIO)) {
		free(printed.text);
		printed = (struct printed){0};
	}
	*text = printed.text;
	*size = printed.size;
	return error;
}

int output_of(char *const words[], char **text, size_t *size)
{
	return output_of_run(words, false, text, size);
}

int output_of_both(char *const words[], char **text, size_t *size)
{
	return output_of_run(words, true, text, size);
}

_Static_assert(OUTPUT_OF_TIMEOUT_S == 20 && OUTPUT_OF_MAX == 256 << 20, "as the texts say");

const char *output_of_reason(int error)
{
	static char text[64];

	if (error <= -OUTPUT_OF_SIGNAL) {
		snprintf(text, sizeof(text), "signal %d ended it (%s)", -error - OUTPUT_OF_SIGNAL,
			strsignal(-error - OUTPUT_OF_SIGNAL));
		return text;
	}
	switch (error) {
	case -ENOENT:
		return "there is no such program";
	case -ETIMEDOUT:
		return "it did not end within 20 seconds, so it was killed";
	case -EFBIG:
		return "it printed more than 256 MB, so it was killed";
	case -EIO:
		return "it ended with an error";
	default:
		return strerror(-error);
	}
}
