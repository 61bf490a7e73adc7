/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: routers that say that the network to the proxies is too small. */
#include "director/health/health_watch.h"

/*
 * One reason for all proxies, because a link is usually shared by many. It names the proxy with the lowest address, so
 * that it stays the same. It never fails the health, because anybody can forge the message.
 */
void health_underlay(struct health_watch *watch, struct health_report *report)
{
	struct underlay_record records[UNDERLAY_REPORT_MAX];
	uint32_t count = underlay_report_read(watch->underlay, records);
	char text[UNDERLAY_REPORT_TEXT], more[64] = "";

	if (!count)
		return;
	if (count > 1)
		snprintf(more, sizeof(more), " (and %u more prox%s)", count - 1, count == 2 ? "y" : "ies");
	health_add(report, HEALTH_UNDERLAY_TOO_BIG, HEALTH_DEGRADES, "network to the proxies",
		"%s%s, but outbound_mtu is %u: raise the MTU there, or lower outbound_mtu",
		underlay_report_text(&records[0].last, text), more, watch->conf->steering.outbound_mtu);
}
