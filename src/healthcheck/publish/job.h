/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What follows a write of the table: reload_command, or building the binary table and notifying
 * the director. It runs in a child process, so that checks go on; what the child says on stdout
 * and stderr is logged, but for what is too much; a failure is retried with backoff until it works.
 */
#ifndef GLB_HEALTHCHECK_PUBLISH_JOB_H
#define GLB_HEALTHCHECK_PUBLISH_JOB_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "healthcheck/config/conf.h"

enum job_state {
	JOB_NONE, /* nothing is configured */
	JOB_IDLE, /* not asked for yet */
	JOB_RUNNING,
	JOB_DONE,
	JOB_FAILED, /* a retry will come */
};

struct job {
	struct ev_loop *loop;
	const struct conf *conf;
	enum job_state state;
	bool again; /* asked for while it ran */
	pid_t pid;
	int output;
	unsigned failures; /* in a row */
	uint64_t runs, failed_runs;
	char error[288]; /* of the last failure; "" after a success */
	char last_line[192];
	char line[512]; /* of output, not ended yet */
	size_t line_size;
	unsigned lines; /* of this run */
	ev_child child;
	ev_io io;
	ev_timer timeout, retry;
};

void job_open(struct job *job, struct ev_loop *loop, const struct conf *conf);

/* Runs it now, or once more if it is running. */
void job_request(struct job *job);

/* Kills the child, if there is one. */
void job_close(struct job *job);

const char *job_state_name(enum job_state state);

#endif
