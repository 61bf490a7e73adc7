/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: the next hops of the backends that packets go to. */
#include <stdio.h>

#include "director/health/health_watch.h"
#include "director/nexthop/nexthop.h"

static const char *object_of(const struct health_watch *watch, uint32_t set, char buf[HEALTH_OBJECT_SIZE])
{
	if (!watch->conf->port_interface_count)
		return "next hops";
	snprintf(buf, HEALTH_OBJECT_SIZE, "next hops of port %u (%.30s)", watch->ports->list[set].id,
		watch->conf->port_interfaces[set]);
	return buf;
}

static void add_set(struct health_watch *watch, struct health_report *report, uint32_t set,
	const struct nexthop_summary *summary, bool all_fail)
{
	char buf[HEALTH_OBJECT_SIZE];
	const char *object = object_of(watch, set, buf);
	struct nexthop_orphan orphan;

	if (summary->backends_without && nexthop_list_orphans(*watch->nexthop, set, 0, &orphan, 1)) {
		health_add(report, HEALTH_NO_NEXT_HOP, all_fail ? HEALTH_FAILS : HEALTH_DEGRADES, object,
			"%u of %u backends have no next hop, so packets to them are dropped; %s: %s; check ip route and ip neigh, and see glb-director-cli next-hops",
			summary->backends_without, summary->backends, orphan.address, orphan.why);
	} else if (summary->unreachable) {
		health_add(report, HEALTH_NEXT_HOP_LOST, HEALTH_DEGRADES, object,
			"%u of %u next hops cannot be reached, such as %s, so their packets use the others: check ip neigh, and see glb-director-cli next-hops",
			summary->unreachable, summary->next_hops, summary->lost);
	}
}

/* Returns whether packets use the set. */
static bool is_used(const struct health_watch *watch, uint32_t set)
{
	return !watch->conf->port_interface_count || watch->ports->list[set].forwards;
}

void health_next_hops(struct health_watch *watch, struct health_report *report)
{
	uint32_t count = watch->conf->port_interface_count ? watch->conf->port_interface_count : 1;
	struct nexthop_summary summaries[NEXTHOP_MAX_PORTS];
	bool all_fail = true;

	if (!*watch->nexthop)
		return;
	for (uint32_t i = 0; i < count; i++) {
		summaries[i] = nexthop_summary(*watch->nexthop, i);
		all_fail &= !is_used(watch, i) || summaries[i].backends_without == summaries[i].backends;
	}
	for (uint32_t i = 0; i < count; i++)
		if (is_used(watch, i))
			add_set(watch, report, i, &summaries[i], all_fail);
}
