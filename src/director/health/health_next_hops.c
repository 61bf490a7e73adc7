/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: the next hops of the backends that packets go to. */
#include <stdio.h>

#include "common/text.h"
#include "director/director.h"
#include "director/health/health_watch.h"
#include "director/nexthop/nexthop.h"

#define NAMED 2 /* backends or next hops in a text */

static const char *object_of(const struct director *director, uint32_t set, char buf[HEALTH_OBJECT_SIZE])
{
	if (!director->conf.port_interface_count)
		return "next hops";
	snprintf(buf, HEALTH_OBJECT_SIZE, "next hops of port %u (%.30s)", director->ports[set].id,
		director->conf.port_interfaces[set]);
	return buf;
}

/* Lists the first backends without a next hop, with the reasons. */
static void name_orphans(const struct director *director, uint32_t set, char *text, size_t size)
{
	struct nexthop_orphan orphans[NAMED];
	uint32_t count = nexthop_list_orphans(director->nexthop, set, 0, orphans, NAMED);

	text[0] = '\0';
	for (uint32_t i = 0, used = 0; i < count && used < size; i++)
		used += (uint32_t)snprintf(
			text + used, size - used, "%s%s: %s", i ? "; " : "", orphans[i].address, orphans[i].why);
}

static void add_set(struct director *director, struct health_report *report, uint32_t set,
	const struct nexthop_summary *summary, bool all_fail)
{
	char buf[HEALTH_OBJECT_SIZE], names[160];
	const char *object = object_of(director, set, buf);

	if (summary->backends_without) {
		name_orphans(director, set, names, sizeof(names));
		health_add(report, HEALTH_NO_NEXT_HOP, all_fail ? HEALTH_FAILS : HEALTH_DEGRADES, object,
			"%u of %u backends have no next hop (glb-director-cli next-hops): %s",
			summary->backends_without, summary->backends, names);
	} else if (summary->unreachable) {
		health_add(report, HEALTH_NEXT_HOP_LOST, HEALTH_DEGRADES, object,
			"%u of %u next hops cannot be reached, and their packets use the others: see glb-director-cli next-hops",
			summary->unreachable, summary->next_hops);
	}
}

void health_next_hops(struct director *director, struct health_report *report)
{
	uint32_t count = director->conf.port_interface_count ? director->conf.port_interface_count : 1;
	struct nexthop_summary summaries[NEXTHOP_MAX_PORTS];
	bool all_fail = true;

	if (!director->nexthop)
		return;
	for (uint32_t i = 0; i < count; i++) {
		summaries[i] = nexthop_summary(director->nexthop, i);
		all_fail &= summaries[i].backends_without == summaries[i].backends;
	}
	for (uint32_t i = 0; i < count; i++)
		add_set(director, report, i, &summaries[i], all_fail);
}
