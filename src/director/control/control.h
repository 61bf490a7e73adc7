/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread: everything that is not packets. Signals, reloads, the gateway, the service
 * manager's watchdog; one epoll loop, which ends when the director should stop.
 */
#ifndef GLB_DIRECTOR_CONTROL_CONTROL_H
#define GLB_DIRECTOR_CONTROL_CONTROL_H

#include <sched.h>
#include <stdint.h>

#include "director/director.h"

struct control;

/* Before any other thread exists: the signals are left to the control thread, SIGPIPE to nobody. */
void control_block_signals(void);

/*
 * Starts the thread on `cpus`. NULL after logging why. The director must outlive it; it sets
 * director->shared.stop after SIGTERM or SIGINT.
 */
struct control *control_start(struct director *director, const cpu_set_t *cpus);

/* Waits for the end of the thread, that is for a signal. */
void control_wait(struct control *control);

/* Afterwards, when no other thread asks for reloads any more. */
void control_free(struct control *control);

struct control_outcome {
	uint64_t generation, digest; /* of the table in use afterwards */
	char error[RELOAD_ERROR_SIZE]; /* "": the file was loaded */
};

/*
 * Has the table reloaded and waits for the outcome; any thread but the control thread. False: it
 * took longer than timeout_ms, or the director stops.
 */
bool control_reload(struct control *control, unsigned timeout_ms, struct control_outcome *outcome);

#endif
