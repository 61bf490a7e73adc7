/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/health/health.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void health_add(struct health_report *report, enum health_cause cause, enum health_severity severity,
	const char *object, const char *format, ...)
{
	struct health_reason *reason = &report->reasons[report->count];
	va_list args;

	report->fails |= severity == HEALTH_FAILS;
	report->found++;
	if (report->count == HEALTH_MAX_REASONS) {
		report->omitted++;
		return;
	}
	report->count++;
	*reason = (struct health_reason){.cause = cause, .severity = severity};
	snprintf(reason->object, sizeof(reason->object), "%s", object);
	va_start(args, format);
	vsnprintf(reason->text, sizeof(reason->text), format, args);
	va_end(args);
}

void health_open(struct health *health, uint64_t now)
{
	*health = (struct health){.state = HEALTH_STARTING, .since = now};
	pthread_mutex_init(&health->lock, NULL);
}

static const struct health_reason *find(const struct health_report *report, const struct health_reason *like)
{
	for (unsigned i = 0; i < report->count; i++)
		if (report->reasons[i].cause == like->cause && strcmp(report->reasons[i].object, like->object) == 0)
			return &report->reasons[i];
	return NULL;
}

/* Sets `since` of each reason. Returns whether the set of reasons differs. */
static bool carry_times(struct health_report *report, const struct health_report *before, uint64_t now)
{
	bool differs = report->count != before->count;

	for (unsigned i = 0; i < report->count; i++) {
		struct health_reason *reason = &report->reasons[i];
		const struct health_reason *old = find(before, reason);

		reason->since = old ? old->since : now;
		differs |= !old || old->severity != reason->severity;
	}
	return differs;
}

static enum health_state next_state(enum health_state state, const struct health_report *report)
{
	if (state == HEALTH_STOPPING || (state == HEALTH_STARTING && report->fails))
		return state;
	if (report->fails)
		return HEALTH_FAILING;
	return report->count ? HEALTH_DEGRADED : HEALTH_OK;
}

bool health_update(struct health *health, const struct health_report *found, uint64_t now, uint64_t now_ms)
{
	struct health_report report = *found;
	bool changed = carry_times(&report, &health->report, now);
	enum health_state state = next_state(health->state, &report);

	changed |= state != health->state;
	pthread_mutex_lock(&health->lock);
	if (state != health->state)
		health->since = now;
	health->state = state;
	health->report = report;
	health->evaluated_ms = now_ms;
	pthread_mutex_unlock(&health->lock);
	return changed;
}

void health_stop(struct health *health, uint64_t now)
{
	pthread_mutex_lock(&health->lock);
	if (health->state != HEALTH_STOPPING)
		health->since = now;
	health->state = HEALTH_STOPPING;
	pthread_mutex_unlock(&health->lock);
}

/* Copies everything but the lock. Any thread. */
static void health_read(struct health *health, struct health *copy)
{
	pthread_mutex_lock(&health->lock);
	copy->state = health->state;
	copy->since = health->since;
	copy->evaluated_ms = health->evaluated_ms;
	copy->stale_ms = health->stale_ms;
	copy->report = health->report;
	pthread_mutex_unlock(&health->lock);
}

void health_report_now(struct health *health, struct health *copy, uint64_t now, uint64_t now_ms)
{
	uint64_t age_ms;

	health_read(health, copy);
	age_ms = now_ms - copy->evaluated_ms;
	if (!copy->evaluated_ms || age_ms < copy->stale_ms)
		return;
	copy->report = (struct health_report){0};
	health_add(&copy->report, HEALTH_CONTROL_STUCK, HEALTH_FAILS, "control thread",
		"it has not looked at the director for %" PRIu64 " seconds, so nothing is known: restart the director",
		age_ms / 1000);
	copy->report.reasons[0].since = now - age_ms / 1000;
	if (copy->state == HEALTH_OK || copy->state == HEALTH_DEGRADED)
		copy->state = HEALTH_FAILING;
}

const char *health_state_name(enum health_state state)
{
	static const char *const names[] = {
		[HEALTH_STARTING] = "starting",
		[HEALTH_OK] = "ok",
		[HEALTH_DEGRADED] = "degraded",
		[HEALTH_FAILING] = "failing",
		[HEALTH_STOPPING] = "stopping",
	};

	return names[state];
}

const char *health_severity_name(enum health_severity severity)
{
	return health_state_name(severity == HEALTH_FAILS ? HEALTH_FAILING : HEALTH_DEGRADED);
}

const char *health_cause_name(enum health_cause cause)
{
	static const char *const names[] = {
#define X(member, name) name,
		HEALTH_CAUSES(X)
#undef X
	};

	return names[cause];
}
