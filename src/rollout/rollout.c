/* SPDX-License-Identifier: BSD-3-Clause */
#include "rollout/rollout.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

static const char *const states[] = {"running", "paused", "stopped", "done", "aborted"};
static const char *const waits[] = {"none", "drained", "connections", "canary"};

const char *rollout_state_name(enum rollout_state state)
{
	return states[state];
}

const char *rollout_wait_name(enum rollout_wait wait)
{
	return waits[wait];
}

bool rollout_is_active(const struct rollout *rollout)
{
	return rollout->state <= ROLLOUT_STOPPED;
}

const char *rollout_key(const char *prefix, char key[ROLLOUT_KEY_MAX], const char *format, ...)
{
	int used = snprintf(key, ROLLOUT_KEY_MAX, "%s/", prefix);
	va_list args;

	va_start(args, format);
	if (used < ROLLOUT_KEY_MAX)
		vsnprintf(key + used, ROLLOUT_KEY_MAX - (size_t)used, format, args);
	va_end(args);
	return key;
}

bool rollout_is_name(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			return false;
	return *text && strlen(text) < ROLLOUT_NAME_MAX;
}

bool rollout_is_without(const struct rollout *rollout, const char *name)
{
	for (size_t i = 0; i < rollout->without_count; i++)
		if (strcmp(rollout->without[i], name) == 0)
			return true;
	return false;
}

bool rollout_add_without(struct rollout *rollout, const char *name)
{
	char(*item)[ROLLOUT_NAME_MAX];

	if (rollout_is_without(rollout, name))
		return true;
	if (rollout->without_count == ROLLOUT_MAX_DIRECTORS)
		return false;
	item = array_append(&rollout->without, &rollout->without_count, sizeof(*item));
	if (item)
		snprintf(*item, sizeof(*item), "%s", name);
	return item;
}

bool rollout_see(struct rollout *rollout, const struct rollout_director *directors, size_t count)
{
	free(rollout->seen);
	rollout->seen = NULL;
	rollout->seen_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct rollout_seen *seen;

		if (rollout_is_without(rollout, directors[i].name))
			continue;
		seen = array_append(&rollout->seen, &rollout->seen_count, sizeof(*seen));
		if (!seen)
			return false;
		snprintf(seen->name, sizeof(seen->name), "%s", directors[i].name);
		seen->healthy = directors[i].healthy;
	}
	return true;
}

uint64_t rollout_clock_ms(struct rollout_clock *clock, const struct rollout *rollout, uint64_t now_ms)
{
	if (strcmp(clock->id, rollout->id) != 0 || clock->step != rollout->step || clock->reached != rollout->reached) {
		*clock = (struct rollout_clock){.step = rollout->step,
			.reached = rollout->reached,
			.last_ms = now_ms,
			.counted_ms = UINT64_C(1000) * rollout->counted_s};
		snprintf(clock->id, sizeof(clock->id), "%s", rollout->id);
	}
	if (now_ms > clock->last_ms) {
		uint64_t passed = now_ms - clock->last_ms;

		clock->counted_ms += passed < ROLLOUT_GAP_MS ? passed : ROLLOUT_GAP_MS;
		clock->last_ms = now_ms;
	}
	return clock->counted_ms;
}

bool rollout_apply(
	struct rollout *rollout, enum rollout_verdict verdict, const struct rollout_view *view, const char *reason)
{
	rollout->reason[0] = '\0';
	rollout->counted_s = (uint32_t)(view->phase_ms / 1000);
	switch (verdict) {
	case ROLLOUT_KEEP:
		break;
	case ROLLOUT_REACH:
	case ROLLOUT_LOSE:
		rollout->reached = verdict == ROLLOUT_REACH;
		rollout->proved = false;
		rollout->counted_s = 0;
		break;
	case ROLLOUT_ADVANCE:
		rollout->step++;
		rollout->reached = rollout->proved = false;
		rollout->counted_s = 0;
		if (!rollout_is_canary(rollout))
			rollout->table_revision = 0;
		return rollout_see(rollout, view->directors, view->count);
	case ROLLOUT_PAUSE:
		rollout->state = ROLLOUT_PAUSED;
		break;
	case ROLLOUT_STOP:
		rollout->state = ROLLOUT_STOPPED;
		break;
	case ROLLOUT_FINISH:
		rollout->state = ROLLOUT_DONE;
		break;
	}
	snprintf(rollout->reason, sizeof(rollout->reason), "%s", reason);
	return true;
}

bool rollout_is_canary(const struct rollout *rollout)
{
	return rollout->steps[rollout->step].wait == ROLLOUT_CANARY;
}

uint64_t rollout_revision_of(const struct rollout *rollout, const char *name)
{
	bool reads_step = rollout_is_canary(rollout) && strcmp(rollout->canary, name) == 0;

	return reads_step ? rollout->plan_revision : rollout->table_revision;
}

bool rollout_asks_proxies(const struct rollout *rollout)
{
	return rollout->drains && rollout->steps[rollout->step].wait == ROLLOUT_DRAINED && rollout->reached &&
	       !rollout->proved;
}

bool rollout_asks(const struct rollout *rollout)
{
	const struct rollout_step *step = &rollout->steps[rollout->step];

	return rollout->state == ROLLOUT_PAUSED && rollout->reached && !rollout->proved &&
	       !rollout_asks_proxies(rollout) && step->wait != ROLLOUT_NO_WAIT && step->wait_s == 0 &&
	       rollout->counted_s >= ROLLOUT_SETTLE_S;
}

void rollout_resume(struct rollout *rollout)
{
	rollout->proved = rollout->proved || rollout_asks(rollout);
	if (rollout->state == ROLLOUT_STOPPED) {
		rollout->reached = rollout->proved = false;
		rollout->counted_s = 0;
	}
	rollout->state = ROLLOUT_RUNNING;
	rollout->reason[0] = '\0';
}

void rollout_free(struct rollout *rollout)
{
	free(rollout->drains);
	free(rollout->without);
	free(rollout->seen);
	*rollout = (struct rollout){0};
}
