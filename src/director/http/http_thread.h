/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that serves HTTP, the pages that docs/reference/metrics.md describes, and sends metrics to statsd. It only
 * reads the director's state, as telemetry does. Neither its clients nor their number can hold up a worker, a reload or
 * the evaluation of the health.
 */
#pragma once

#include <sched.h>

struct director;
struct http_thread;

/*
 * Starts the thread on the CPUs `cpus`. If it cannot listen, it logs why and tries again until it can. *director must
 * exist until http_thread_stop(). NULL: there is nothing to serve, or the thread cannot be started, and the log says
 * why.
 */
struct http_thread *http_thread_start(struct director *director, const cpu_set_t *cpus);

/* Disconnects all clients and waits for the end of the thread. NULL: does nothing. */
void http_thread_stop(struct http_thread *thread);
