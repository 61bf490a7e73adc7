/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A child process in the background of the agent, and the one JSON line that it prints. Its other output is logged. One
 * thread, which waits for the descriptor in its loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "program/child.h"

struct job {
	struct child child; /* pid 0: none runs */
	int pidfd; /* becomes readable when the child ends */
	uint64_t end_ms; /* clock_now_ms() at which it is killed */
	bool killed;
	char *output; /* owned */
	size_t size;
	char note[512]; /* the last line that was logged, "": none */
};

/* Called in the child process. Prints `result`, whose reference it takes, and ends the process. */
_Noreturn void job_finish(json_t *result);

/* Starts `run` in a child process. Returns 0, or -errno. */
int job_start(struct job *job, void (*run)(const void *data), const void *data, unsigned timeout_ms);

/*
 * Does what can be done without waiting. Returns true once, when the child has ended: *result is its JSON object, a new
 * reference; or NULL, and job->note says why there is none. `quiet`: does not log its output.
 */
bool job_step(struct job *job, bool quiet, json_t **result);

/* Gives the child this time to end, then kills it. */
void job_stop(struct job *job, unsigned wait_ms);

static inline bool job_runs(const struct job *job)
{
	return job->child.pid != 0;
}
