/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread, which does everything except packets: signals, reloads, next hops and the service manager's
 * watchdog. It runs one epoll loop, which ends when the director should stop.
 */
#pragma once

#include <sched.h>
#include <stdint.h>

#include "director/director.h"

struct control;

struct control_outcome {
	uint64_t generation, digest; /* of the table in use after the reload */
	char error[RELOAD_ERROR_SIZE]; /* why the reload failed; "": it succeeded */
};

/* Blocks the signals that the control thread handles, and ignores SIGPIPE. Called before any other thread exists. */
void control_block_signals(void);

/*
 * Starts the thread on the CPUs `cpus`. It sets director->shared.stop after SIGTERM or SIGINT. *director must exist
 * until control_free(). NULL after logging why.
 */
struct control *control_start(struct director *director, const cpu_set_t *cpus);

/* Waits until the thread ends, which it does after SIGTERM or SIGINT. */
void control_wait(struct control *control);

/* Called after control_wait(), when no other thread can call control_reload() any more. */
void control_free(struct control *control);

/*
 * Asks the control thread to reload the table and waits for the outcome. force: also if the new table empties the
 * service. Any thread except the control thread. False: the reload takes longer than timeout_ms, or the director is
 * stopping; *outcome is undefined.
 */
bool control_reload(struct control *control, bool force, unsigned timeout_ms, struct control_outcome *outcome);
