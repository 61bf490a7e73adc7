/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Child processes. Each is the leader of its own process group, and has no descriptor, signal setting or variable for
 * the service manager of its parent. A child that cannot run its program says why. Each child has one thread that
 * starts it, reads from it and waits for its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/file/executable.h"

struct child {
	pid_t pid; /* 0: it was not started */
	/* Read ends of non-blocking pipes; -1: closed. What it prints, and why it could not run its program. */
	int output, failure;
};

struct child_plan {
	/* What the child process does; it ends with exit code 127 if this function returns. */
	void (*run)(const void *data);
	const void *data;
	const char *input; /* its stdin; NULL: nothing */
	bool drop_errors; /* stderr does not belong to the output */
};

struct child_failure {
	int error; /* errno; 0: see the text */
	char text[EXECUTABLE_FAULT_MAX]; /* after "the program" */
};

/* Returns 0 or -errno. After a success, the caller calls child_close(). */
int child_start(struct child *child, const struct child_plan *plan);

/*
 * For struct child_plan. Both run a program, data: its arguments, which end with NULL, and end it when the parent ends.
 * The first one is for a program that operators named by its full path. It gets no environment of the caller. The
 * second one is for a program of the system, which is searched in PATH and in the folders of system programs.
 */
void child_run_program(const void *data);
void child_run_tool(const void *data);

/* Takes output. Returns false if it is too much. */
typedef bool child_take(void *data, const char *bytes, size_t size);

/* Reads the output that there is, at most 256 KiB. Returns 1 if more may come, 0 at the end, or -EFBIG: too much. */
int child_read(struct child *child, child_take *take, void *data);

/*
 * Blocks until the process has ended, and reads its output meanwhile, but does not wait for the end of the output,
 * which another process may hold. Then kills what is left of its group. Returns 0 and the status of waitpid(), or
 * -errno: -ETIMEDOUT, -EFBIG: the process was killed. A killed process has a second to end, or hangs in the kernel.
 */
int child_wait(struct child *child, unsigned timeout_ms, child_take *take, void *data, int *status);

/* Returns whether the process has said why it could not run its program. */
bool child_failed(struct child *child, struct child_failure *failure);

/* Closes the pipes. Does not end the process. */
void child_close(struct child *child);

#define CHILD_END_MAX 32

/* "exit code 3", or "killed by signal 9". */
void child_describe_end(int status, char text[CHILD_END_MAX]);

/*
 * For the daemon at start: programs that it runs do not get CAP_NET_RAW, which is for its own raw sockets. The daemon
 * keeps the capability.
 */
void child_withhold_capability(void);
