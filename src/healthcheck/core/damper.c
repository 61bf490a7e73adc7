/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/core/damper.h"

#define BACKOFF_FIRST_MS 1000u
#define BACKOFF_LAST_MS  60000u

bool damper_step(struct damper *damper, bool passed, unsigned trigger_healthy, unsigned trigger_unhealthy)
{
	enum damper_verdict result = passed ? DAMPER_HEALTHY : DAMPER_UNHEALTHY;
	unsigned trigger = passed ? trigger_healthy : trigger_unhealthy;

	if (damper->verdict == result) {
		damper->streak = 0;
		return false;
	}
	if (damper->verdict != DAMPER_UNKNOWN && ++damper->streak < trigger)
		return false;
	damper->verdict = result;
	damper->streak = 0;
	return true;
}

const char *damper_name(enum damper_verdict verdict)
{
	static const char *const names[] = {
		[DAMPER_UNKNOWN] = "unknown",
		[DAMPER_HEALTHY] = "healthy",
		[DAMPER_UNHEALTHY] = "unhealthy",
	};

	return names[verdict];
}

bool damper_panics(uint32_t healthy, uint32_t total, unsigned threshold_percent)
{
	return (uint64_t)healthy * 100 < (uint64_t)total * threshold_percent;
}

uint64_t damper_hold_wait(const struct damper_hold *hold, uint64_t now_ms)
{
	uint64_t until = hold->written_ms + hold->hold_ms;

	return hold->written && until > now_ms ? until - now_ms : 0;
}

void damper_hold_written(struct damper_hold *hold, uint64_t now_ms)
{
	hold->written = true;
	hold->written_ms = now_ms;
}

uint64_t damper_backoff_ms(unsigned failures)
{
	uint64_t wait = BACKOFF_FIRST_MS;

	while (failures-- > 1 && wait < BACKOFF_LAST_MS)
		wait *= 2;
	return wait < BACKOFF_LAST_MS ? wait : BACKOFF_LAST_MS;
}
