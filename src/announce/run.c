/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "conf/conf_argv.h"
#include "program/child.h"

#define KILLED_MS 1000 /* a killed process ends after this time, or hangs in the kernel */

struct run {
	pid_t pid;
	int pidfd, pipe; /* -1: closed */
	char *output;
	size_t size, used;
};

static int above_stdio(int fd)
{
	return fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

static _Noreturn void be_child(char *const argv[], int input, int output)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		    locale[] = "LC_ALL=C.UTF-8";
	char *environment[] = {path, locale, NULL}, buf[CONF_ARGV_FAULT_MAX];
	const char *fault;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	child_prepare(above_stdio(input), above_stdio(output), STDERR_FILENO + 1);
	fault = conf_argv_fault(argv[0], buf);
	if (!fault) {
		execve(argv[0], argv, environment);
		snprintf(buf, sizeof(buf), "cannot be run: %s", strerror(errno));
		fault = buf;
	}
	dprintf(STDERR_FILENO, "it %s\n", fault);
	_exit(127);
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Returns 0 or -errno. */
static int start(struct run *run, char *const argv[], int input)
{
	int ends[2], error = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	run->pid = fork();
	if (run->pid == 0)
		be_child(argv, input, ends[1]);
	if (run->pid < 0)
		error = -errno;
	close(ends[1]);
	run->pipe = ends[0];
	fcntl(run->pipe, F_SETFL, O_NONBLOCK);
	if (error)
		return error;
	setpgid(run->pid, run->pid); /* parent and child both do this, whichever runs first */
	run->pidfd = (int)syscall(SYS_pidfd_open, run->pid, 0);
	return run->pidfd < 0 ? -errno : 0;
}

/* Reads what there is. The rest of a long output is dropped, so that the program does not wait for a reader. */
static void read_output(struct run *run)
{
	char bytes[4096];
	ssize_t size;

	for (int i = 0; run->pipe >= 0 && i < 64; i++) {
		size = read(run->pipe, bytes, sizeof(bytes));
		if (size < 0 && errno == EAGAIN)
			return;
		if (size <= 0) {
			close_one(&run->pipe);
			return;
		}
		if ((size_t)size > run->size - 1 - run->used)
			size = (ssize_t)(run->size - 1 - run->used);
		memcpy(run->output + run->used, bytes, (size_t)size);
		run->used += (size_t)size;
	}
}

/* Waits until the process has ended, at most until `end`. Does not wait for the end of the output, which another
 * process may hold. */
static bool wait_end(struct run *run, uint64_t end_ms)
{
	for (;;) {
		struct pollfd fds[] = {{.fd = run->pidfd, .events = POLLIN}, {.fd = run->pipe, .events = POLLIN}};
		uint64_t now = clock_now_ms();

		if (poll(fds, 2, now < end_ms ? (int)(end_ms - now) : 0) < 0 && errno != EINTR)
			return false;
		read_output(run);
		if (fds[0].revents)
			return true;
		if (now >= end_ms)
			return false;
	}
}

static int finish(struct run *run, int error)
{
	int status;

	if (run->pid > 0) {
		kill(-run->pid, SIGKILL);
		if (error && run->pidfd >= 0)
			wait_end(run, clock_now_ms() + KILLED_MS);
		if (waitpid(run->pid, &status, WNOHANG) != run->pid && !error)
			error = -ECHILD;
	}
	close_one(&run->pipe);
	close_one(&run->pidfd);
	run->output[run->used] = '\0';
	if (error)
		return error;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A file and not a pipe, so that nobody has to write while the program runs. Returns a descriptor or -errno. */
static int open_input(const char *text)
{
	size_t size = strlen(text);
	int fd = memfd_create("input", MFD_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	if (write(fd, text, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	error = errno ? errno : EIO;
	close(fd);
	return -error;
}

int run_program(char *const argv[], const char *input, unsigned timeout_ms, char *output, size_t size)
{
	struct run run = {.pidfd = -1, .pipe = -1, .output = output, .size = size};
	int stdin_fd = input ? open_input(input) : -1, error;

	/* Processes that did not end in time after they were killed. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	error = input && stdin_fd < 0 ? stdin_fd : start(&run, argv, stdin_fd);
	close_one(&stdin_fd);
	if (!error && !wait_end(&run, clock_now_ms() + timeout_ms))
		error = -ETIMEDOUT;
	return finish(&run, error);
}
