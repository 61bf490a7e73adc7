/* SPDX-License-Identifier: BSD-3-Clause */
/* Judges if a step is done, or if the roll-out must stop. What is not known counts as not done. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rollout/rollout.h"

static void say(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(char *reason, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, ROLLOUT_REASON_MAX, format, args);
	va_end(args);
	text_mend(reason); /* a character may be cut */
}

static const struct rollout_seen *find_seen(const struct rollout *rollout, const char *name)
{
	for (size_t i = 0; i < rollout->seen_count; i++)
		if (strcmp(rollout->seen[i].name, name) == 0)
			return &rollout->seen[i];
	return NULL;
}

static const struct rollout_director *find_director(const struct rollout_view *view, const char *name)
{
	for (size_t i = 0; i < view->count; i++)
		if (strcmp(view->directors[i].name, name) == 0)
			return &view->directors[i];
	return NULL;
}

static bool uses_step(const struct rollout *rollout, const struct rollout_director *director)
{
	bool waits = rollout_is_canary(rollout) && strcmp(rollout->canary, director->name) != 0;

	return director->revision == rollout_revision_of(rollout, director->name) &&
	       strcmp(director->fingerprint, rollout->steps[rollout->step - waits].fingerprint) == 0;
}

/* Several steps have the same fingerprint, because it does not depend on states: so the revision decides. */
static bool is_table_changed(const struct rollout *rollout, const struct rollout_view *view, char *reason)
{
	if (view->table_revision == rollout->table_revision)
		return false;
	if (view->table_revision == 0)
		say(reason, "somebody deleted the table in etcd; the roll-out wrote its revision %" PRIu64,
			rollout->table_revision);
	else
		say(reason,
			"somebody changed the table in etcd beside the roll-out: it has the revision %" PRIu64
			", and the roll-out expects %" PRIu64,
			view->table_revision, rollout->table_revision);
	return true;
}

static bool is_director_bad(const struct rollout *rollout, const struct rollout_director *director, char *reason)
{
	const struct rollout_seen *seen = find_seen(rollout, director->name);

	if (*director->fault)
		say(reason, "director %s: its key in etcd does not hold a record of glb-fleet: %s", director->name,
			director->fault);
	else if (director->refused == rollout_revision_of(rollout, director->name))
		say(reason, "director %s refused the table of step %" PRIu32 ": %s", director->name, rollout->step,
			director->refusal);
	else if (seen && seen->healthy && !director->healthy)
		say(reason, "director %s was healthy before step %" PRIu32 " and no longer is: %s", director->name,
			rollout->step, director->reasons);
	else
		return false;
	return true;
}

/* Returns true if the roll-out must stop. */
static bool is_bad(const struct rollout *rollout, const struct rollout_view *view, size_t *counting, char *reason)
{
	*counting = 0;
	if (is_table_changed(rollout, view, reason))
		return true;
	if (view->truncated) {
		say(reason, "etcd has more than %zu keys of directors, and a roll-out looks at no more", view->count);
		return true;
	}
	for (size_t i = 0; i < view->count; i++) {
		if (rollout_is_without(rollout, view->directors[i].name))
			continue;
		++*counting;
		if (is_director_bad(rollout, &view->directors[i], reason))
			return true;
	}
	for (size_t i = 0; i < rollout->seen_count; i++) {
		const char *name = rollout->seen[i].name;

		if (rollout_is_without(rollout, name) || find_director(view, name))
			continue;
		say(reason, "director %s vanished during step %" PRIu32 ": its glb-fleet no longer renews its key",
			name, rollout->step);
		return true;
	}
	if (rollout_is_canary(rollout) &&
		(rollout_is_without(rollout, rollout->canary) || !find_director(view, rollout->canary))) {
		say(reason, "the canary %s does not count, or is not alive, so nothing would prove step %" PRIu32,
			rollout->canary, rollout->step);
		return true;
	}
	if (*counting == 0)
		say(reason, "no director is alive, so nothing would prove step %" PRIu32, rollout->step);
	return *counting == 0;
}

/* Returns how many directors that count do not use the step. */
static size_t count_behind(
	const struct rollout *rollout, const struct rollout_view *view, const struct rollout_director **first)
{
	size_t behind = 0;

	*first = NULL;
	for (size_t i = 0; i < view->count; i++) {
		const struct rollout_director *director = &view->directors[i];

		if (rollout_is_without(rollout, director->name) || uses_step(rollout, director))
			continue;
		if (behind++ == 0)
			*first = director;
	}
	return behind;
}

static enum rollout_verdict judge_behind(const struct rollout *rollout, const struct rollout_view *view, size_t behind,
	size_t counting, const struct rollout_director *first, char *reason)
{
	bool late = !rollout->reached && view->phase_ms > UINT64_C(1000) * rollout->limit_s;

	say(reason, "%zu of %zu director%s do%s not use step %" PRIu32 "%s%s: %s uses %s of revision %" PRIu64, behind,
		counting, text_plural(counting), behind == 1 ? "es" : "", rollout->step,
		rollout_is_canary(rollout) ? " (the canary) or the one before (the others)" : "", late ? " in time" : "",
		first->name, *first->fingerprint ? first->fingerprint : "no table", first->revision);
	if (rollout->reached)
		return ROLLOUT_LOSE;
	return late ? ROLLOUT_STOP : ROLLOUT_KEEP;
}

static enum rollout_verdict judge_wait(const struct rollout *rollout, const struct rollout_view *view, char *reason)
{
	const struct rollout_step *step = &rollout->steps[rollout->step];
	uint32_t needed_s = step->wait_s > ROLLOUT_SETTLE_S ? step->wait_s : ROLLOUT_SETTLE_S;
	bool asks = rollout_asks_proxies(rollout) && !view->drained;
	bool waits = step->wait != ROLLOUT_NO_WAIT && !rollout->proved && (asks || !rollout_asks_proxies(rollout));

	if (!waits || step->wait_s == 0)
		needed_s = ROLLOUT_SETTLE_S;
	if (asks && (step->wait_s == 0 || view->phase_ms < UINT64_C(1000) * needed_s)) {
		say(reason, "waits until the metrics of the proxies that leave have no connections%s%s",
			view->drain ? ": " : "", view->drain ? view->drain : "");
		return ROLLOUT_KEEP;
	}
	if (view->phase_ms < UINT64_C(1000) * needed_s) {
		say(reason, "%s %s step %" PRIu32 ": waits %" PRIu32 " s, of which %" PRIu64 " s have passed",
			step->wait == ROLLOUT_CANARY ? rollout->canary : "all directors",
			step->wait == ROLLOUT_CANARY ? "alone uses" : "use", rollout->step, needed_s,
			view->phase_ms / 1000);
		return ROLLOUT_KEEP;
	}
	if (waits && step->wait_s == 0) {
		if (step->wait == ROLLOUT_DRAINED)
			say(reason,
				"drain: check with `glb-redirect drained --wait 10m` on the proxies that leave that they have no connections, then `glb-director-cli rollout resume`");
		else
			say(reason,
				"drain: wait until the connections that began before step %" PRIu32
				" have ended, as long as your longest connections last, then `glb-director-cli rollout resume`",
				rollout->step);
		return ROLLOUT_PAUSE;
	}
	return rollout->step + 1 == rollout->count ? ROLLOUT_FINISH : ROLLOUT_ADVANCE;
}

enum rollout_verdict rollout_judge(
	const struct rollout *rollout, const struct rollout_view *view, char reason[ROLLOUT_REASON_MAX])
{
	const struct rollout_director *first;
	size_t counting, behind;

	reason[0] = '\0';
	if (rollout->state != ROLLOUT_RUNNING)
		return ROLLOUT_KEEP;
	if (is_bad(rollout, view, &counting, reason))
		return ROLLOUT_STOP;
	behind = count_behind(rollout, view, &first);
	if (behind)
		return judge_behind(rollout, view, behind, counting, first, reason);
	return rollout->reached ? judge_wait(rollout, view, reason) : ROLLOUT_REACH;
}
