/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/host/cpu_list.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"

bool cpu_list_take(const char **text, cpu_set_t *cpus)
{
	CPU_ZERO(cpus);
	do {
		uint32_t first, last;

		*text += **text == ',';
		if (!text_take_number(text, 0, CPU_SETSIZE - 1, &first))
			return false;
		last = first;
		if (**text == '-' && (++*text, !text_take_number(text, first, CPU_SETSIZE - 1, &last)))
			return false;
		for (uint32_t cpu = first; cpu <= last; cpu++)
			CPU_SET(cpu, cpus);
	} while (**text == ',');
	return true;
}

bool cpu_list_read(const char *text, cpu_set_t *cpus)
{
	CPU_ZERO(cpus);
	return *text == '\0' || *text == '\n' ||
	       (cpu_list_take(&text, cpus) && (*text == '\0' || strcmp(text, "\n") == 0));
}

const char *cpu_list_text(const cpu_set_t *cpus, char buf[CPU_LIST_TEXT_MAX])
{
	size_t used = 0;

	buf[0] = '\0';
	for (int first = 0; first < CPU_SETSIZE; first++) {
		int last = first;

		if (!CPU_ISSET(first, cpus))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
			last++;
		if (used + 16 > CPU_LIST_TEXT_MAX) {
			snprintf(buf + used, CPU_LIST_TEXT_MAX - used, "...");
			break;
		}
		used += (size_t)snprintf(buf + used, CPU_LIST_TEXT_MAX - used, "%s%d", used ? "," : "", first);
		if (last > first)
			used += (size_t)snprintf(buf + used, CPU_LIST_TEXT_MAX - used, "-%d", last);
		first = last;
	}
	return buf;
}

cpu_set_t cpu_list_without(const cpu_set_t *cpus, const cpu_set_t *others)
{
	cpu_set_t common, rest;

	CPU_AND(&common, cpus, others);
	CPU_XOR(&rest, cpus, &common);
	return rest;
}
