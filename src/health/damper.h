/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns results of probes into verdicts, and decides which changes of verdicts are written together. Pure: callers pass
 * the time, in milliseconds of clock_now_ms(). tests/model/damper.py is its twin.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "health/settings.h"

enum damper_verdict {
	DAMPER_UNKNOWN, /* no result yet */
	DAMPER_HEALTHY,
	DAMPER_UNHEALTHY,
};

/* When results change a verdict. */
struct damper_rule {
	/* Results in a row that change the verdict to healthy, and to unhealthy. */
	unsigned trigger_healthy, trigger_unhealthy;
	/*
	 * A verdict that became unhealthy stays so for hold_ms at least. The hold doubles each time the check flaps, up
	 * to hold_max_ms, which is not less than hold_ms. 0: no hold.
	 */
	unsigned hold_ms, hold_max_ms;
};

struct damper {
	enum damper_verdict verdict;
	/* Results in a row that contradict the verdict. */
	unsigned streak;
	/* How often in a row the check failed soon after it had recovered. */
	unsigned flaps;
	/* The verdict stays unhealthy until then; 0: no hold. */
	uint64_t held_until_ms;
	/* True after a change from unhealthy to healthy; then when it was. A slow start of the backend would begin
	 * here. */
	bool recovered;
	uint64_t recovered_ms;
};

/* A check flaps if it fails again before it was healthy for this many times its last hold. */
#define DAMPER_CALM 10

/*
 * Adds a result. The first result becomes the verdict. After that, trigger_healthy passed results in a row change the
 * verdict to healthy when its hold is over, and trigger_unhealthy failed results in a row change it to unhealthy.
 * Returns true if the verdict changed.
 */
bool damper_step(struct damper *damper, bool passed, const struct damper_rule *rule, uint64_t now_ms);

/* Returns for how many milliseconds the verdict stays unhealthy, whatever the results are. */
uint64_t damper_held_ms(const struct damper *damper, uint64_t now_ms);

/* Returns true if the last result contradicts a healthy verdict, so that the check may be about to become unhealthy. */
static inline bool damper_wavers(const struct damper *damper)
{
	return damper->verdict == DAMPER_HEALTHY && damper->streak > 0;
}

const char *damper_name(enum damper_verdict verdict);

/*
 * True when the share of healthy backends is below threshold_percent. Then the checks are more likely wrong than the
 * backends. Never true for threshold_percent 0.
 */
bool damper_panics(uint32_t healthy, uint32_t total, unsigned threshold_percent);

/*
 * Changes of verdicts that wait for one write. Backends that fail together have their results at different times, up to
 * one interval apart. The first change opens the batch for a window. The batch closes early when no other check wavers.
 */
struct damper_batch {
	bool open;
	/* False: the batch does not close early. Recoveries can wait, and other failures may not have had a
	 * result yet. */
	bool early;
	/* Length of the window, and when it ends. */
	unsigned window_ms;
	uint64_t close_ms;
	/* There is no write before this time: one window after the last one. */
	uint64_t next_ms;
};

#define DAMPER_WINDOW_MAX_MS 5000u

/* Adds the change of a verdict of a check with this timing. failed: to unhealthy. */
void damper_batch_add(struct damper_batch *batch, const struct check_timing *timing, bool failed, uint64_t now_ms);

/* Returns how many milliseconds the write of the batch has to wait. */
uint64_t damper_batch_wait(const struct damper_batch *batch, bool others_waver, uint64_t now_ms);

/* Ends the batch after a write. */
void damper_batch_written(struct damper_batch *batch, uint64_t now_ms);

/* Returns the wait before the next attempt: 1, 2, 4 ... 60 s after 1, 2, 3 ... failures in a row. */
uint64_t damper_backoff_ms(unsigned failures);
