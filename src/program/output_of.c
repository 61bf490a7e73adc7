/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/output_of.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define READ_MAX 65536

extern char **environ;

/* Returns 0 or an errno. */
static int spawn(char *const words[], int out, bool both, pid_t *pid)
{
	static const char *const folders[] = {"/usr/sbin", "/sbin", "/usr/local/sbin"};
	posix_spawn_file_actions_t actions;
	char path[256];
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (both)
		posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	else
		posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	error = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
	for (size_t i = 0; error == ENOENT && i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], words[0]);
		error = posix_spawn(pid, path, &actions, NULL, words, environ);
	}
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Makes room for what is read next. Doubles it, because realloc() may copy all that there is. */
static bool make_room(char **text, size_t size, size_t *room)
{
	size_t larger = 2 * (size + READ_MAX + 1);
	char *moved;

	if (*room > size + READ_MAX)
		return true;
	moved = realloc(*text, larger);
	if (!moved)
		return false;
	*text = moved;
	*room = larger;
	return true;
}

/* Appends what is in the pipe. *room: bytes allocated. Returns 1 if there may be more, 0 at the end, or -errno. */
static int append(int in, char **text, size_t *size, size_t *room)
{
	ssize_t got;

	if (!make_room(text, *size, room))
		return -ENOMEM;
	got = read(in, *text + *size, READ_MAX);
	if (got < 0)
		return errno == EINTR ? 1 : -errno;
	*size += (size_t)got;
	(*text)[*size] = '\0';
	if (*size > OUTPUT_OF_MAX)
		return -EFBIG;
	return got > 0;
}

static int collect(int in, uint64_t end, char **text, size_t *size)
{
	size_t room = 0;
	int more = 1;

	while (more > 0) {
		struct pollfd wait = {.fd = in, .events = POLLIN};
		uint64_t now = clock_now_ns();

		if (now >= end || poll(&wait, 1, (int)((end - now) / 1000000) + 1) == 0)
			return -ETIMEDOUT;
		more = append(in, text, size, &room);
	}
	return more;
}

/* Returns 0, or -ETIMEDOUT. The kernel does not end a process that waits for a card, even if it is killed. */
static int await(pid_t pid, uint64_t end, int *status)
{
	while (waitpid(pid, status, WNOHANG) == 0) {
		if (clock_now_ns() >= end)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return 0;
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
	uint64_t end = clock_now_ns() + OUTPUT_OF_TIMEOUT_S * CLOCK_NS_PER_S;
	int ends[2], error, status = 0;
	pid_t pid;

	*text = NULL;
	*size = 0;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	error = -spawn(words, ends[1], both, &pid);
	close(ends[1]);
	if (!error) {
		error = collect(ends[0], end, text, size);
		if (!error)
			error = await(pid, end, &status);
		if (!error) {
			error = error_of(status);
		} else {
			kill(pid, SIGKILL);
			await(pid, clock_now_ns() + CLOCK_NS_PER_S, &status);
		}
	}
	close(ends[0]);
	if (error && !(both && error == -EIO)) {
		free(*text);
		*text = NULL;
	}
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
