/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures for how long the daemon could not serve its sockets: one iteration of the event loop took long, or the
 * process was stopped. A probe that is late for this reason is not the proxy's fault. One thread.
 */
#pragma once

#include <ev.h>
#include <stdint.h>

/* The loop wakes at least this often. */
#define PULSE_BEAT_US 50000
/* Work of one iteration, or lateness of a wake, that is normal. It delays a reply, but is no stall. */
#define PULSE_NORMAL_US 5000

/* Pure: callers pass the time, in microseconds of clock_now_us(). */
struct pulse_meter {
	/* Last time when the loop began to wait, or to work. */
	uint64_t mark_us;
	/* Sum of all stalls that have ended. */
	uint64_t stalled_us;
};

/* The loop ends its work and begins to wait for events. */
void pulse_meter_sleep(struct pulse_meter *meter, uint64_t now_us);
/* The loop begins to work. */
void pulse_meter_wake(struct pulse_meter *meter, uint64_t now_us);
/* Returns the sum of all stalls, with the current one. For callbacks of the loop. */
uint64_t pulse_meter_stalled(const struct pulse_meter *meter, uint64_t now_us);

struct pulse {
	struct pulse_meter meter;
	struct ev_loop *loop;
	ev_prepare sleep;
	ev_check wake;
	ev_timer beat;
};

/* `pulse` must not move until it is closed. */
void pulse_open(struct pulse *pulse, struct ev_loop *loop);
/* It may have been closed, or never opened if it is zero. */
void pulse_close(struct pulse *pulse);
