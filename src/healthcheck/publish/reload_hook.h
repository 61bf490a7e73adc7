/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What follows a write of the table: reload_command, or building the binary table and notifying
 * the director. It runs in a child process, so that checks go on; what the child says on stdout
 * and stderr is logged, but for what is too much; a failure is retried with backoff until it works.
 */
#ifndef GLB_HEALTHCHECK_PUBLISH_RELOAD_HOOK_H
#define GLB_HEALTHCHECK_PUBLISH_RELOAD_HOOK_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "healthcheck/config/conf.h"

enum reload_hook_state {
	RELOAD_HOOK_NONE, /* nothing is configured */
	RELOAD_HOOK_IDLE, /* not asked for yet */
	RELOAD_HOOK_RUNNING,
	RELOAD_HOOK_DONE,
	RELOAD_HOOK_FAILED, /* a retry will come */
};

struct reload_hook {
	struct ev_loop *loop;
	const struct conf *conf;
	enum reload_hook_state state;
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

void reload_hook_open(struct reload_hook *hook, struct ev_loop *loop, const struct conf *conf);

/* Runs it now, or once more if it is running. */
void reload_hook_request(struct reload_hook *hook);

/* Kills the child, if there is one. */
void reload_hook_close(struct reload_hook *hook);

const char *reload_hook_state_name(enum reload_hook_state state);

#endif
