/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: the forwarding table and its last reload. */
#include "director/health/health_watch.h"

static void add_backends(const struct table_set *set, struct health_report *report)
{
	char label[16], object[HEALTH_OBJECT_SIZE];
	uint64_t good = 0;

	for (uint32_t i = 0; i < set->count; i++)
		good += table_good_backends(&set->tables[i]);
	if (!good)
		health_add(report, HEALTH_NO_GOOD_BACKEND, HEALTH_FAILS, "forwarding table",
			"no table has a backend that is healthy, and active or filling: undrain a proxy, or see the health checks; glb-director-cli show --live lists the proxies");
	for (uint32_t i = 0; i < set->count && good; i++) {
		if (table_good_backends(&set->tables[i]))
			continue;
		snprintf(object, sizeof(object), "table %.50s", table_label(set, i, label));
		health_add(report, HEALTH_NO_GOOD_BACKEND, HEALTH_DEGRADES, object,
			"it has no backend that is healthy, and active or filling: undrain a proxy, or see the health checks; glb-director-cli show --live lists the proxies");
	}
}

void health_table(struct health_watch *watch, struct health_report *report)
{
	struct reload *reload = watch->reload;

	add_backends(&reload_lock(reload)->routes->set, report);
	if (reload->last_error[0])
		health_add(report, HEALTH_RELOAD_FAILED, HEALTH_DEGRADES, "forwarding table",
			"the last reload failed, so the earlier table is in use; correct the file and reload: %s",
			reload->last_error);
	reload_unlock(reload);
}
