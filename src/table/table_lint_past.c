/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/table_lint.h"

#include <stdio.h>

#include "common/utc.h"

static bool is_listed(const struct table *table, const struct netaddr *addr)
{
	for (uint32_t i = 0; i < table->backend_count; i++)
		if (table->backends[i].state != TABLE_INACTIVE && netaddr_compare(&table->backends[i].addr, addr) == 0)
			return true;
	return false;
}

static bool names_a_hop(const struct table *table, const struct table_past *past)
{
	for (uint32_t i = 0; i < past->backend_count; i++)
		if (is_listed(table, &past->backends[i].addr))
			return true;
	return false;
}

void table_lint_past(const struct table *table, uint32_t t, struct faults *faults)
{
	char where[64], text[UTC_TEXT_MAX];
	uint32_t edited = 0; /* states that are in the file that operators edit */

	for (uint32_t p = 0; p < table->past_count; p++) {
		const struct table_past *past = &table->past[p];

		edited += !past->by_health;
		snprintf(where, sizeof(where), "tables[%u].previous[%u].backends", t, p);
		if (!names_a_hop(table, past))
			faults_warn(faults, where,
				"names no backend that can be a hop now: the entry has no effect, remove it");
		snprintf(where, sizeof(where), "tables[%u].previous[%u].time", t, p);
		if (p && past->time > past[-1].time)
			faults_warn(faults, where, "'%s' is later than that of previous[%u]: list the newest state first",
				utc_format(past->time, text), p - 1);
	}
	snprintf(where, sizeof(where), "tables[%u].hops", t);
	if (table->hops < 4 && edited >= table->hops)
		faults_warn(faults, where,
			"'%u' leaves room for %u previous state%s, but there are %u: connections of the others may break; use 4 or more",
			table->hops, table->hops - 1u, table->hops == 2 ? "" : "s", edited);
}
