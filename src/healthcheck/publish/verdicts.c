/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/verdicts.h"

/* The verdict of the backend's checks. A backend without a verdict keeps `healthy` from src. */
static bool is_healthy(const struct checklist *list, uint32_t table, uint32_t backend)
{
	const struct table_backend *entry = &list->document.set.tables[table].backends[backend];
	enum damper_verdict verdict = checklist_verdict(list, table, backend);

	return verdict == DAMPER_UNKNOWN ? entry->healthy : verdict == DAMPER_HEALTHY;
}

static bool panics(const struct checklist *list, uint32_t table, unsigned threshold)
{
	const struct table *entry = &list->document.set.tables[table];
	uint32_t healthy = 0, total = 0;

	for (uint32_t i = 0; i < entry->backend_count; i++) {
		if (entry->backends[i].state == TABLE_INACTIVE)
			continue;
		total++;
		healthy += is_healthy(list, table, i);
	}
	return damper_panics(healthy, total, threshold);
}

bool verdicts_apply(struct checklist *list, unsigned panic_threshold, bool panic[TABLE_MAX_TABLES])
{
	const struct table_set *set = &list->document.set;

	for (uint32_t t = 0; t < set->count; t++) {
		panic[t] = panics(list, t, panic_threshold);
		for (uint32_t b = 0; b < set->tables[t].backend_count; b++)
			if (!table_document_set_healthy(&list->document, t, b, panic[t] || is_healthy(list, t, b)))
				return false;
	}
	return true;
}
