/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <ev.h>

/* Starts the timer anew, `seconds` from now. ev_timer_start() alone counts from the time at which the loop last read
 * its clock, which after a long callback is so old that the timer would run too early. */
static inline void timer_restart(struct ev_loop *loop, ev_timer *timer, double seconds)
{
	ev_timer_stop(loop, timer);
	ev_now_update(loop);
	ev_timer_set(timer, seconds, 0);
	ev_timer_start(loop, timer);
}
