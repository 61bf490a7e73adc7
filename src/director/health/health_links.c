/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: links and MTUs of ports, and the interfaces of the exception path. */
#include <stdio.h>

#include <net/if.h>

#include "common/clock.h"
#include "director/health/health_watch.h"
#include "director/ports/port_recovery.h"
#include "program/log.h"

#define OF_INTERFACE_SIZE (IF_NAMESIZE + 4)
#define LINK_LOG_MS       1000

static const char *name(const struct port *port, char buf[HEALTH_OBJECT_SIZE])
{
	snprintf(buf, HEALTH_OBJECT_SIZE, "port %u (%.40s)", port->id, port->name);
	return buf;
}

/* Writes " of eth0", the kernel's interface of a port; nothing if it has none. */
static const char *of_interface(const struct port *port, char buf[OF_INTERFACE_SIZE])
{
	char interface[IF_NAMESIZE];

	buf[0] = '\0';
	if (port->info.if_index && if_indextoname(port->info.if_index, interface))
		snprintf(buf, OF_INTERFACE_SIZE, " of %s", interface);
	return buf;
}

static bool same_link(const struct link *one, const struct link *other)
{
	return one->up == other->up && one->mbps == other->mbps;
}

/* Logs a link that has changed, at most once in LINK_LOG_MS: a link may flap. */
static void log_link(struct health_watch *watch, const struct port *port, uint16_t i)
{
	const struct link *link = &port->link;
	uint64_t now = clock_now_ms();
	char text[LINK_TEXT_MAX];

	if (!watch->link_changes[i] || now - watch->link_logged_ms[i] < LINK_LOG_MS)
		return;
	if (watch->link_changes[i] > 1)
		log_warning("port %u (%s): the link is %s, after %u changes", port->id, port->name,
			link_text(link, text), watch->link_changes[i]);
	else
		log_line(link->up ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, "port %u (%s): the link is %s", port->id,
			port->name, link_text(link, text));
	watch->link_logged_ms[i] = now;
	watch->link_changes[i] = 0;
}

/* A reset takes the link of a port down, too, but the port does not run then. */
static void follow_link(struct health_watch *watch, uint16_t i, bool up)
{
	bool *lost = &watch->link_lost[i];
	bool back = up && *lost;

	*lost = !up;
	if (back)
		port_recovery_link_is_back(watch->ports, i);
}

/* Reads all links, and logs those that have changed. Returns how many ports with receive queues are up. */
static unsigned read_links(struct health_watch *watch)
{
	unsigned up = 0;

	for (uint16_t i = 0; i < watch->ports->count; i++) {
		struct port *port = &watch->ports->list[i];
		struct link last = port->link, link = {0};
		bool runs = port_is_used(port) && port_is_running(port);

		/* An interface that was missing is another one now, even if it has the same index, until the port is
		 * attached */
		if (runs)
			link = last.missing ? last : link_ask(port);
		watch->link_changes[i] += !same_link(&link, &last);
		link_store(port, link);
		log_link(watch, port, i);
		if (runs)
			follow_link(watch, i, link.up);
		up += link.up && port->rx_queues;
	}
	return up;
}

/* Appends why a port that is not running passes no packets. */
static void add_state(const struct port *port, enum health_severity severity, struct health_report *report)
{
	char object[HEALTH_OBJECT_SIZE];

	if (port->state == PORT_REMOVED || port->state == PORT_REMOVING)
		health_add(report, HEALTH_PORT_REMOVED, severity, name(port, object),
			"its device was removed: plug it in%s%s, and the director uses it again",
			port->kernel_driver[0] ? " or bind it to " : "", port->kernel_driver);
	else if (__atomic_load_n(&port->reset_failed, __ATOMIC_RELAXED))
		health_add(report, HEALTH_PORT_RESET, severity, name(port, object),
			"it could not be set up again after a reset, and the director keeps trying: see the log, and restart the director if this lasts");
	else
		health_add(report, HEALTH_PORT_RESET, severity, name(port, object),
			"%s: this should take seconds; see the log if it lasts",
			port->state == PORT_RECOVERING ? "its driver recovers from an error"
						       : "it is set up again after a reset");
}

static void add_exception_interfaces(const struct health_watch *watch, struct health_report *report)
{
	char object[HEALTH_OBJECT_SIZE];

	for (uint16_t i = 0; i < watch->ports->exception_count; i++) {
		struct port *exception = &watch->ports->exceptions[i];
		struct link link = {.up = true};

		if (exception->rx_queues)
			link = link_ask(exception);
		link_store(exception, link);
		snprintf(object, sizeof(object), "glb%u", watch->ports->list[i].id);
		if (link.missing)
			health_add(report, HEALTH_EXCEPTION_DOWN, HEALTH_DEGRADES, object,
				"the interface was removed, so the kernel gets no packets: restart the director, which makes it again");
		else if (!link.up)
			health_add(report, HEALTH_EXCEPTION_DOWN, HEALTH_DEGRADES, object,
				"the interface is down, so the kernel gets no packets: ip link set %s up", object);
	}
}

void health_links(struct health_watch *watch, struct health_report *report)
{
	unsigned up = read_links(watch);
	/* A port that passes no packets has this severity. Withdrawing the VIPs helps only if no other port
	 * receives. */
	enum health_severity severity = up ? HEALTH_DEGRADES : HEALTH_FAILS;
	uint16_t wanted = watch->conf->steering.outbound_mtu, mtu;
	char object[HEALTH_OBJECT_SIZE], interface[OF_INTERFACE_SIZE];

	for (uint16_t i = 0; i < watch->ports->count; i++) {
		const struct port *port = &watch->ports->list[i];

		if (!port_is_used(port))
			continue;
		if (!port_is_running(port)) {
			add_state(port, severity, report);
		} else if (port->link.missing) {
			health_add(report, HEALTH_PORT_REMOVED, severity, name(port, object),
				"its interface was removed from the kernel: create it again, and restart the director");
		} else if (!port->link.up) {
			health_add(report, HEALTH_LINK_DOWN, severity, name(port, object),
				"the link%s is down%s: check the cable, the switch and the interface",
				of_interface(port, interface), up ? "" : ", and no other port receives");
		} else if (port->tx_queues && (mtu = port_read_mtu(port)) < wanted) {
			health_add(report, HEALTH_MTU_TOO_SMALL, HEALTH_DEGRADES, name(port, object),
				"MTU %u is less than outbound_mtu %u, so large packets are lost: raise the MTU%s, or lower outbound_mtu",
				mtu, wanted, of_interface(port, interface));
		}
	}
	add_exception_interfaces(watch, report);
}
