/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/decision.h"

#include <stdio.h>

#include "common/text.h"

static bool decide(struct decision *decision, enum decision_verdict verdict, const char *reason)
{
	if (decision->verdict == verdict)
		return false;
	decision->verdict = verdict;
	snprintf(decision->reason, sizeof(decision->reason), "%s", reason);
	text_mend(decision->reason); /* a character may be cut */
	return true;
}

/*
 * Before the first verdict nobody knows whether the VIP is announced, for instance by an earlier process that was
 * killed. It stays as it is until `rise` good or `fall` bad answers in a row, so that a new start of this program does
 * not withdraw it.
 */
static bool feed_first(struct decision *decision, bool good, const char *reason, const struct decision_rule *rule)
{
	if (good) {
		decision->bad = 0;
		return false;
	}
	if (++decision->bad < rule->damper.trigger_unhealthy)
		return false;
	return decide(decision, DECISION_BAD, reason);
}

bool decision_feed(struct decision *decision, enum answer answer, const char *reason, const struct decision_rule *rule,
	uint64_t now_ms)
{
	unsigned steps = answer == ANSWER_GONE ? rule->damper.trigger_unhealthy : 1;
	struct damper *damper = &decision->damper;
	bool good = answer == ANSWER_GOOD;

	if (answer == ANSWER_SILENT && rule->fail_static)
		return false;
	if (damper->verdict == DAMPER_UNKNOWN)
		damper->verdict = DAMPER_UNHEALTHY; /* so that `rise` good answers are needed */
	for (unsigned i = 0; i < steps; i++)
		decision->fell |= damper_step(damper, good, &rule->damper, now_ms) && !good;
	damper->recovered &= decision->fell;
	if (damper->verdict == DAMPER_HEALTHY)
		return decide(decision, DECISION_GOOD, reason);
	if (answer == ANSWER_GONE || decision->verdict != DECISION_NONE)
		return decide(decision, DECISION_BAD, reason);
	return feed_first(decision, good, reason, rule);
}
