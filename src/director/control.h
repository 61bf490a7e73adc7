/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread: everything that is not packets. Signals, reloads, the gateway, the service
 * manager's watchdog; one epoll loop, which ends when the director should stop.
 */
#ifndef GLB_DIRECTOR_CONTROL_H
#define GLB_DIRECTOR_CONTROL_H

#include <sched.h>

#include "director/director.h"

struct control;

/* Before any other thread exists: the signals are left to the control thread. */
void control_block_signals(void);

/*
 * Starts the thread on `cpus`. NULL after logging why. The director must outlive it; it sets
 * director->stop after SIGTERM or SIGINT.
 */
struct control *control_start(struct director *director, const cpu_set_t *cpus);

/* Waits for the end of the thread, that is for a signal, and frees. */
void control_join(struct control *control);

#endif
