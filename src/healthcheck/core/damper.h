/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns results of probes into verdicts, and decides when the table may be written. Pure: callers pass the time, in
 * milliseconds of clock_now_ms().
 */
#ifndef GLB_HEALTHCHECK_CORE_DAMPER_H
#define GLB_HEALTHCHECK_CORE_DAMPER_H

#include <stdbool.h>
#include <stdint.h>

enum damper_verdict {
	DAMPER_UNKNOWN, /* no result yet */
	DAMPER_HEALTHY,
	DAMPER_UNHEALTHY,
};

struct damper {
	enum damper_verdict verdict;
	/* Results in a row that contradict the verdict. */
	unsigned streak;
};

/*
 * Adds a result. The first result becomes the verdict. After that, trigger_healthy passed results in a row change the
 * verdict to healthy, and trigger_unhealthy failed results in a row change it to unhealthy. Returns true if the verdict
 * changed.
 */
bool damper_step(struct damper *damper, bool passed, unsigned trigger_healthy, unsigned trigger_unhealthy);

const char *damper_name(enum damper_verdict verdict);

/*
 * True when the share of healthy backends is below threshold_percent. Then the checks are more likely wrong than the
 * backends. Never true for threshold_percent 0.
 */
bool damper_panics(uint32_t healthy, uint32_t total, unsigned threshold_percent);

/* Limits writes of the table to one in hold_ms. The first write is not held. */
struct damper_hold {
	unsigned hold_ms;
	/* False until the first write. */
	bool written;
	/* Time of the last write. */
	uint64_t written_ms;
};

/* Returns how many milliseconds a write has to wait. */
uint64_t damper_hold_wait(const struct damper_hold *hold, uint64_t now_ms);
void damper_hold_written(struct damper_hold *hold, uint64_t now_ms);

/* Returns the wait before the next attempt: 1, 2, 4 ... 60 s after 1, 2, 3 ... failures in a row. */
uint64_t damper_backoff_ms(unsigned failures);

#endif
