/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/damper.h"

#define BACKOFF_FIRST_MS 1000u
#define BACKOFF_LAST_MS  60000u

/* Returns how long an unhealthy verdict stays after this many flaps. */
static uint64_t hold_of(const struct damper_rule *rule, unsigned flaps)
{
	uint64_t hold = rule->hold_ms;

	while (flaps-- > 0 && hold < rule->hold_max_ms)
		hold *= 2;
	return hold < rule->hold_max_ms ? hold : rule->hold_max_ms;
}

static void fall(struct damper *damper, const struct damper_rule *rule, uint64_t now_ms)
{
	uint64_t last = hold_of(rule, damper->flaps);
	bool flapped = damper->recovered && now_ms - damper->recovered_ms < DAMPER_CALM * last;

	if (!flapped)
		damper->flaps = 0;
	else if (last < rule->hold_max_ms)
		damper->flaps++;
	damper->held_until_ms = now_ms + hold_of(rule, damper->flaps);
}

static void recover(struct damper *damper, uint64_t now_ms)
{
	damper->held_until_ms = 0;
	damper->recovered = true;
	damper->recovered_ms = now_ms;
}

bool damper_step(struct damper *damper, bool passed, const struct damper_rule *rule, uint64_t now_ms)
{
	enum damper_verdict old = damper->verdict, result = passed ? DAMPER_HEALTHY : DAMPER_UNHEALTHY;
	unsigned trigger = passed ? rule->trigger_healthy : rule->trigger_unhealthy;

	if (old == result) {
		damper->streak = 0;
		return false;
	}
	if (old != DAMPER_UNKNOWN) {
		damper->streak += damper->streak < trigger;
		if (damper->streak < trigger || damper_held_ms(damper, now_ms))
			return false;
	}
	damper->verdict = result;
	damper->streak = 0;
	if (old == DAMPER_HEALTHY)
		fall(damper, rule, now_ms);
	else if (old == DAMPER_UNHEALTHY)
		recover(damper, now_ms);
	return true;
}

uint64_t damper_held_ms(const struct damper *damper, uint64_t now_ms)
{
	return damper->held_until_ms > now_ms ? damper->held_until_ms - now_ms : 0;
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

/*
 * A check that fails together with this one has its first failed result up to one interval and one timeout later. True:
 * that was before this one's verdict changed, so the other check wavers now.
 */
static bool others_waver(const struct check_timing *timing)
{
	return timing->trigger_unhealthy >= 2 &&
	       (uint64_t)(timing->trigger_unhealthy - 2) * timing->interval_ms >= timing->timeout_ms;
}

void damper_batch_add(struct damper_batch *batch, const struct check_timing *timing, bool failed, uint64_t now_ms)
{
	uint64_t window = (uint64_t)timing->interval_ms + timing->timeout_ms;

	batch->early = (batch->open && batch->early) || (failed && others_waver(timing));
	if (batch->open)
		return;
	batch->open = true;
	batch->window_ms = window < DAMPER_WINDOW_MAX_MS ? (unsigned)window : DAMPER_WINDOW_MAX_MS;
	batch->close_ms = now_ms + batch->window_ms;
}

uint64_t damper_batch_wait(const struct damper_batch *batch, bool others_waver, uint64_t now_ms)
{
	uint64_t at = batch->early && !others_waver ? now_ms : batch->close_ms;

	if (batch->next_ms > at)
		at = batch->next_ms;
	return at > now_ms ? at - now_ms : 0;
}

void damper_batch_written(struct damper_batch *batch, uint64_t now_ms)
{
	batch->open = false;
	batch->next_ms = now_ms + batch->window_ms;
}

uint64_t damper_backoff_ms(unsigned failures)
{
	uint64_t wait = BACKOFF_FIRST_MS;

	while (failures-- > 1 && wait < BACKOFF_LAST_MS)
		wait *= 2;
	return wait < BACKOFF_LAST_MS ? wait : BACKOFF_LAST_MS;
}
