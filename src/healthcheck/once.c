/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/once.h"

#include <stdio.h>
#include <string.h>

static void print_row(int width, const char *table, const char *ip, const char *check, const char *result,
	const char *latency, const char *reason)
{
	printf("%-12s %-15s %-*s %-11s %9s  %s\n", table, ip, width, check, result, latency, reason);
}

static void print_backend(const struct checklist *list, int width, uint32_t table, uint32_t backend)
{
	const struct table *entry = &list->document.set.tables[table];
	size_t first = list->first[table][backend], end = list->first[table][backend + 1];
	char ip[NETADDR_TEXT_MAX], latency[32];

	netaddr_format(&entry->backends[backend].addr, ip);
	if (first == end)
		print_row(width, entry->name, ip, "-", "-", "",
			entry->backends[backend].state == TABLE_INACTIVE ? "inactive" : "no checks: healthy");
	for (size_t i = first; i < end; i++) {
		const struct check *check = list->checks[list->uses[i].check];

		snprintf(latency, sizeof(latency), "%.1f ms", (double)check->latency_us / 1e3);
		print_row(width, entry->name, ip, check->name, check_result_name(check->result), latency, check->reason);
	}
}

bool once_print(const struct checklist *list)
{
	const struct table_set *set = &list->document.set;
	bool healthy = true;
	int width = 5;

	for (uint32_t i = 0; i < list->check_count; i++)
		if ((int)strlen(list->checks[i]->name) > width)
			width = (int)strlen(list->checks[i]->name);
	print_row(width, "TABLE", "BACKEND", "CHECK", "RESULT", "LATENCY", "REASON");
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t b = 0; b < set->tables[t].backend_count; b++) {
			print_backend(list, width, t, b);
			healthy &= checklist_verdict(list, t, b) == DAMPER_HEALTHY;
		}
	return healthy;
}
