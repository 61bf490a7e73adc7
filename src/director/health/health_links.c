/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: links and MTUs of ports. */
#include "director/director.h"
#include "director/health/health_watch.h"
#include "program/log.h"

static const char *name(const struct port *port, char buf[HEALTH_OBJECT_SIZE])
{
	snprintf(buf, HEALTH_OBJECT_SIZE, "port %u (%.40s)", port->id, port->name);
	return buf;
}

/* Reads all links, and logs those that have changed. Returns how many ports with receive queues are up. */
static unsigned read_links(struct director *director)
{
	char text[LINK_TEXT_MAX];
	unsigned up = 0;

	for (uint16_t i = 0; i < director->port_count; i++) {
		const struct port *port = &director->ports[i];
		struct link *last = &director->memory.links[i], link = {0};

		if (port_is_used(port))
			link = link_read(port);
		if (link.up != last->up || link.mbps != last->mbps)
			log_line(link.up ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, "port %u (%s): the link is %s",
				port->id, port->name, link_text(&link, text));
		*last = link;
		up += link.up && port->rx_queues;
	}
	return up;
}

void health_links(struct director *director, struct health_report *report)
{
	unsigned up = read_links(director);
	uint16_t mtu = director->conf.steering.outbound_mtu;
	char object[HEALTH_OBJECT_SIZE];

	for (uint16_t i = 0; i < director->port_count; i++) {
		const struct port *port = &director->ports[i];
		const struct link *link = &director->memory.links[i];

		if (!port_is_used(port))
			continue;
		if (!link->up)
			health_add(report, HEALTH_LINK_DOWN, up ? HEALTH_DEGRADES : HEALTH_FAILS, name(port, object),
				"the link is down%s: check the cable, the switch and the interface",
				up ? "" : ", and no other port receives");
		else if (port->tx_queues && link->mtu && link->mtu < mtu)
			health_add(report, HEALTH_MTU_TOO_SMALL, HEALTH_DEGRADES, name(port, object),
				"MTU %u is less than outbound_mtu %u, so large packets are lost: raise the MTU, or lower outbound_mtu",
				link->mtu, mtu);
	}
}
