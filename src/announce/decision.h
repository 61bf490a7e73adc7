/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns answers into a damped decision: that the director forwards packets for a VIP, or that the pings of the probe
 * come back. Pure: callers pass the time, in milliseconds of clock_now_ms(). One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "health/damper.h"

#define DECISION_REASON_MAX 256

enum answer {
	ANSWER_GOOD,
	ANSWER_BAD, /* damped */
	ANSWER_GONE, /* the director has ended, or will soon: the decision is bad at once */
	ANSWER_SILENT, /* there was no answer */
};

enum decision_verdict {
	DECISION_NONE, /* there were too few answers */
	DECISION_GOOD,
	DECISION_BAD,
};

struct decision_rule {
	struct damper_rule damper;
	bool fail_static; /* silence changes nothing; otherwise it is bad */
};

struct decision {
	enum decision_verdict verdict;
	char reason[DECISION_REASON_MAX]; /* of the verdict */
	struct damper damper;
	/* It was good, and then bad. Before that, becoming good is no recovery, after which the hold would double. */
	bool fell;
	/* Bad answers in a row before the first verdict. */
	unsigned bad;
};

/* Takes one answer. Returns true if the verdict changed; then the reason is why. */
bool decision_feed(struct decision *decision, enum answer answer, const char *reason, const struct decision_rule *rule,
	uint64_t now_ms);
