/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/verdicts.h"

/*
 * The verdict of the backend's checks. A backend without a verdict keeps `healthy` from src. The set does not have that
 * value any more after a panic.
 */
static bool is_healthy(const struct checklist *list, uint32_t table, uint32_t backend)
{
	enum damper_verdict verdict = checklist_verdict(list, table, backend);

	return verdict == DAMPER_UNKNOWN ? !checklist_is_marked(list, table, backend) : verdict == DAMPER_HEALTHY;
}

/* No check says that this backend is unhealthy, but src does. So it does not count, and panic does not change it. */
static bool is_unhealthy_by_hand(const struct checklist *list, uint32_t table, uint32_t backend)
{
	return checklist_is_marked(list, table, backend) && !checklist_has_checks(list, table, backend);
}

static struct verdicts count(const struct checklist *list, uint32_t table, unsigned panic_threshold)
{
	const struct table *entry = &list->document.set.tables[table];
	struct verdicts verdicts = {0};

	for (uint32_t i = 0; i < entry->backend_count; i++) {
		uint8_t state = entry->backends[i].state;
		bool healthy = is_healthy(list, table, i);

		if (state == TABLE_INACTIVE || is_unhealthy_by_hand(list, table, i))
			continue;
		verdicts.backends++;
		verdicts.healthy += healthy;
		verdicts.kept += !healthy && (state == TABLE_ACTIVE || state == TABLE_FILLING);
	}
	verdicts.panic = damper_panics(verdicts.healthy, verdicts.backends, panic_threshold);
	if (!verdicts.panic)
		verdicts.kept = 0;
	return verdicts;
}

void verdicts_apply(struct checklist *list, unsigned panic_threshold, struct verdicts verdicts[TABLE_MAX_TABLES])
{
	const struct table_set *set = &list->document.set;

	for (uint32_t t = 0; t < set->count; t++) {
		verdicts[t] = count(list, t, panic_threshold);
		for (uint32_t b = 0; b < set->tables[t].backend_count; b++)
			set->tables[t].backends[b].healthy =
				(verdicts[t].panic && !is_unhealthy_by_hand(list, t, b)) || is_healthy(list, t, b);
	}
}

const struct fact verdicts_facts[] = {
	{"table_panic", "panic", OPENMETRICS_GAUGE, FACTS_AT(struct verdicts, panic),
		"1 if too few backends are healthy, so that all count as healthy"},
	{"table_kept_by_panic", "kept_by_panic", OPENMETRICS_GAUGE, FACTS_AT(struct verdicts, kept),
		"unhealthy backends that are in service only because of panic"},
	{0},
};
