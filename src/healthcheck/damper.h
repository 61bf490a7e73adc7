/* SPDX-License-Identifier: BSD-3-Clause */
/* From results to verdicts, and from verdicts to when the table is written. Pure: time is given. */
#ifndef GLB_HEALTHCHECK_DAMPER_H
#define GLB_HEALTHCHECK_DAMPER_H

#include <stdbool.h>
#include <stdint.h>

enum damper_verdict {
	DAMPER_UNKNOWN, /* no result yet */
	DAMPER_HEALTHY,
	DAMPER_UNHEALTHY,
};

struct damper {
	enum damper_verdict verdict;
	unsigned streak; /* results in a row against the verdict */
};

/*
 * One more result. The first one is believed at once; then trigger_healthy results in a row make
 * an unhealthy check healthy, trigger_unhealthy the other way round. True: the verdict changed.
 */
bool damper_step(struct damper *damper, bool passed, unsigned trigger_healthy, unsigned trigger_unhealthy);

const char *damper_name(enum damper_verdict verdict);

/*
 * Whether so few of a table's backends are healthy that the checks are doubted rather than the
 * backends: less than threshold_percent of them. 0: never.
 */
bool damper_panics(uint32_t healthy, uint32_t total, unsigned threshold_percent);

/* The table is written at most once in hold_ms, but at once for the first time or by request. */
struct damper_hold {
	unsigned hold_ms;
	bool written;
	uint64_t written_ms;
};

/* How long to wait before a write at now_ms. */
uint64_t damper_hold_wait(const struct damper_hold *hold, uint64_t now_ms);
void damper_hold_written(struct damper_hold *hold, uint64_t now_ms);

/* Attempt N (from 1) of something that failed is tried again after 1, 2, 4 ... 60 s. */
uint64_t damper_backoff_ms(unsigned failures);

#endif
