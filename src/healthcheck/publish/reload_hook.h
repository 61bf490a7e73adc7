/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reload hook runs after the table was written. It runs reload_command, or it builds the binary table and notifies
 * the director. It runs in a child process, so that checks go on. The child's stdout and stderr are logged, up to a
 * limit per run. A hook that fails is retried with backoff until it succeeds. A child that does not even end when it is
 * killed is left alone, so that later tables still reach the director.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "healthcheck/config/conf.h"
#include "program/child.h"

enum reload_hook_state {
	RELOAD_HOOK_NONE, /* not configured */
	RELOAD_HOOK_IDLE, /* has not run yet */
	RELOAD_HOOK_RUNNING,
	RELOAD_HOOK_DONE,
	RELOAD_HOOK_FAILED, /* will be retried */
};

/* What the director said about its table after the last reload that reached it. */
enum reload_hook_director {
	RELOAD_HOOK_DIRECTOR_NONE, /* not asked: no `notify`, or no reload yet */
	RELOAD_HOOK_DIRECTOR_UNKNOWN, /* it does not tell */
	RELOAD_HOOK_DIRECTOR_CURRENT, /* it uses the table that was built */
	RELOAD_HOOK_DIRECTOR_STALE, /* it uses another one */
};

struct reload_hook;

/* A killed child that has not ended. */
struct reload_hook_orphan {
	ev_child child; /* active while it has not ended */
	struct reload_hook *hook;
};

#define RELOAD_HOOK_ORPHANS 4

struct reload_hook {
	struct ev_loop *loop;
	const struct conf *conf;
	enum reload_hook_state state;
	enum reload_hook_director director;
	/* Status of the binary table when the last run ended that succeeded. */
	struct stat built;
	/* Requested while it ran: run it once more. */
	bool again;
	struct child child; /* pid 0: none */
	/* It was killed, and gets grace_ms to end. */
	bool killed;
	unsigned grace_ms;
	struct reload_hook_orphan orphans[RELOAD_HOOK_ORPHANS];
	/* Failed runs in a row. */
	unsigned failures;
	uint64_t runs, failed_runs;
	/* Unix time when the last run ended; 0: none has. */
	int64_t ended_s;
	/* Reason of the last failure; "" after a success. */
	char error[640];
	/* Last line of this run's output, for `error`. */
	char last_line[512];
	/* The line that is being read. */
	char line[512];
	size_t line_size;
	/* Lines of output in this run. */
	unsigned lines;
	ev_child exit;
	ev_io io;
	ev_timer timeout, retry;
};

void reload_hook_open(struct reload_hook *hook, struct ev_loop *loop, const struct conf *conf);

/* Runs the hook now. If it is running, runs it once more afterwards. */
void reload_hook_request(struct reload_hook *hook);

/* Returns true if the hook has built the binary table, and somebody else has changed or removed it since then. */
bool reload_hook_is_undone(const struct reload_hook *hook);

/* Kills the child, if there is one, and waits until it has ended, at most a second. Does nothing if reload_hook_open()
 * was not called. */
void reload_hook_close(struct reload_hook *hook);

const char *reload_hook_state_name(enum reload_hook_state state);
const char *reload_hook_director_name(enum reload_hook_director director);
/* A sentence for people, for what reload_hook_director_name() returns; "": none. */
const char *reload_hook_director_text(const char *name);
