/* SPDX-License-Identifier: BSD-3-Clause */
/* One capture for one client: the taps of the workers, and the messages to the client. Owned by the capture thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "director/capture/capture.h"
#include "director/plan.h"
#include "worker/tap/tap.h"

#define SESSION_ROUND_MS     10 /* how often the thread takes packets from the workers */
#define SESSION_ROUND_PACKET 2000 /* the most that it takes in a round */

enum { SESSION_RUNS = -1 }; /* beside enum capture_reason */

struct session {
	const struct capture_sources *from;
	int fd; /* of the client, non-blocking */
	struct capture_request request;
	struct bpf_insn program[CAPTURE_MAX_PROGRAM];
	struct tap_choice choice;
	struct tap *taps[PLAN_MAX_LCORES]; /* by worker->index */
	uint64_t ends_ms; /* of clock_now_ms() */
	uint64_t stalled_ms; /* since when the client has not read; 0: it reads */
	uint64_t sent; /* packets */
	/* The counters of each worker, by worker->index, when the client had got all packets that they count. */
	struct capture_counters until[PLAN_MAX_LCORES];
	uint64_t tick_tsc, tick_ns; /* the same moment by both clocks */
	uint64_t generations[2]; /* of the tables that the client knows */
	uint64_t listing; /* the generation whose labels the client gets */
	uint32_t listed; /* the labels of this generation that it already has */
	uint32_t pending; /* bytes of message[] that could not be sent yet */
	uint8_t message[CAPTURE_MESSAGE_MAX] __attribute__((aligned(8)));
};

/*
 * Receives a request from `fd` and starts the capture. Returns true; or false after the client was told why not. In
 * this case, the caller closes fd.
 */
bool session_start(struct session *session, const struct capture_sources *from, int fd);

/* Tells a client why there is no capture for it. */
void session_refuse(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Receives the request of a client, which has wait_ms to send it. Returns false after the client was told what is wrong
 * with it. */
bool session_receive(int fd, int wait_ms, struct capture_request *request);

/* Sends what the workers have captured. Returns SESSION_RUNS, or why the capture ends: an enum capture_reason. */
int session_step(struct session *session);

/* Ends the capture: no worker uses a tap any more. The client gets what is left, if it reads, and the reason. Closes
 * fd. */
void session_end(struct session *session, enum capture_reason reason);

/* The counters of all taps. Any thread, while the session exists. */
struct capture_counters session_counters(const struct session *session);

/*
 * The same for the end of the capture, for its thread. If the client has as many packets as it wants, only what was
 * counted until the last of them: nobody wants the packets behind it.
 */
struct capture_counters session_result(const struct session *session);
