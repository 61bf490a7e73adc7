/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capture thread. It listens on a UNIX socket beside DPDK's telemetry socket, and runs at most one capture at a
 * time for `glb-director-cli capture`. It sleeps while there is none. A capture ends when its client is gone or does
 * not read, and at the latest after the time and the number of packets that the client asked for. Nothing that a client
 * does can delay the control thread or a worker.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "packet/capture_messages.h"
#include "program/facts.h"

struct capture;
struct ports;
struct reload;
struct workers;

/* The parts of the director that captures read. They are borrowed, and must exist until capture_close(). */
struct capture_sources {
	const struct ports *ports;
	const struct workers *workers;
	struct reload *reload;
};

/*
 * Starts the thread on the CPUs `cpus`, when the workers exist. NULL after logging why; the director works without it.
 */
struct capture *capture_open(struct capture_sources sources, const cpu_set_t *cpus);

/* Ends the capture that runs, and the thread. Called while the workers run or end, but are not freed. NULL: does
 * nothing. */
void capture_close(struct capture *capture);

/* What the capture that runs is, for telemetry. */
struct capture_state {
	bool running;
	pid_t pid; /* of the client */
	uid_t uid;
	uint64_t since; /* Unix time in seconds */
	char filter[CAPTURE_FILTER_TEXT]; /* "": none */
	struct capture_counters counters;
};

extern const struct fact capture_facts[]; /* about struct capture_state */

/* Any thread, until capture_close(). capture: NULL is one that does not run. */
struct capture_state capture_state(struct capture *capture);
