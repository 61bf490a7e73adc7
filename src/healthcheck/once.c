/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/once.h"

#include <stdio.h>

#include "program/command.h"

#define ROW    "  %-11s %9s  %s%s%s"
#define INDENT 25 /* of the last column */

static void print_backend(const struct checklist *list, uint32_t table, uint32_t backend)
{
	const struct table_set *set = &list->document.set;
	const struct table_backend *entry = &set->tables[table].backends[backend];
	size_t first = list->first[table][backend], end = list->first[table][backend + 1];
	char ip[NETADDR_TEXT_MAX], label[16], latency[32];

	command_print(2, "table %s: %s%s", table_label(set, table, label), netaddr_format(&entry->addr, ip),
		first < end                                 ? ""
		: entry->state == TABLE_INACTIVE            ? ", inactive"
		: checklist_is_marked(list, table, backend) ? ", no checks: unhealthy"
							    : ", no checks: healthy");
	for (size_t i = first; i < end; i++) {
		const struct check *check = list->checks[list->uses[i].check];

		snprintf(latency, sizeof(latency), "%.1f ms", (double)check->latency_us / 1e3);
		command_print(INDENT, ROW, check_result_name(check->result), latency, check->name,
			*check->reason ? ": " : "", check->reason);
	}
}

bool once_print(const struct checklist *list)
{
	const struct table_set *set = &list->document.set;
	bool healthy = true;

	command_print(0, ROW, "RESULT", "LATENCY", "CHECK", ": ", "REASON");
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t b = 0; b < set->tables[t].backend_count; b++) {
			print_backend(list, t, b);
			healthy &= checklist_verdict(list, t, b) == DAMPER_HEALTHY;
		}
	return healthy;
}
