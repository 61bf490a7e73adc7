/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the services' sockets and of the kernel's settings for them. */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "redirect/check/check.h"
#include "redirect/host/diag.h"
#include "redirect/host/system.h"
#include "redirect/host/tcp_counters.h"

#define ENOUGH_BACKLOG   128 /* connections; the usual minimum of servers */
#define ENOUGH_SOMAXCONN 1024
#define USUAL_SOMAXCONN  4096 /* the default since Linux 5.4 */

#define SOCKET_TEXT_MAX (NETADDR_TEXT_MAX + 10)

static const char *socket_text(const struct diag_socket *socket, char text[SOCKET_TEXT_MAX])
{
	char address[NETADDR_TEXT_MAX];
	bool v6 = socket->address.family == NETADDR_V6;

	snprintf(text, SOCKET_TEXT_MAX, "%s%s%s:%u", v6 ? "[" : "", netaddr_format(&socket->address, address),
		v6 ? "]" : "", socket->port);
	return text;
}

bool sockets_serve_vip(const struct diag_socket *socket, const struct check_subject *subject)
{
	return diag_is_any(socket) || vips_find(&subject->vips, &socket->address);
}

/* Adds a finding if the sockets are not known. Returns whether they are. */
static bool knows_sockets(struct check *check)
{
	int error = check->subject->sockets_error;

	if (error)
		check_add(check, FINDINGS_OK, "", NULL, "not known: the kernel does not list its sockets: %s",
			strerror(-error));
	return !error;
}

static void check_route_lookups(struct check *check)
{
	const struct redirect_settings *settings = &check->subject->settings;
	long ipv4 = 1, ipv6 = 1;

	system_setting(&ipv4, "net/ipv4/conf/lo/forwarding");
	system_setting(&ipv6, "net/ipv6/conf/lo/forwarding");
	if (settings->syn_cookies && !(ipv4 && ipv6))
		check_add(check, FINDINGS_WARN, "lo",
			"sysctl -w net.ipv4.conf.lo.forwarding=1 net.ipv6.conf.lo.forwarding=1",
			"the program with --syn-cookies on finds no routes, because forwarding is off on lo, so the kernel answers SYN floods");
	else if (settings->forward == REDIRECT_FORWARD_FIB && !ipv4)
		check_add(check, FINDINGS_FAIL, "lo", "sysctl -w net.ipv4.conf.lo.forwarding=1",
			"the program with --forward fib finds no routes, because forwarding is off on lo, so it sends packets for the next hop to their sender");
}

void check_syn_cookies(struct check *check)
{
	long value = 1;

	check_route_lookups(check);
	system_setting(&value, "net/ipv4/tcp_syncookies");
	if (value)
		check_add(check, FINDINGS_OK, "", NULL, "SYN cookies protect from SYN floods");
	else
		check_add(check, FINDINGS_WARN, "", "sysctl -w net.ipv4.tcp_syncookies=1",
			"net.ipv4.tcp_syncookies is 0, so a SYN flood keeps clients out");
}

struct backlogs {
	size_t listeners, full;
	char small[256]; /* a list of sockets */
};

static void check_listener(struct check *check, const struct diag_socket *socket, struct backlogs *backlogs)
{
	char text[SOCKET_TEXT_MAX];
	size_t used = strlen(backlogs->small);

	socket_text(socket, text);
	backlogs->listeners++;
	if (diag_is_full(socket)) {
		check_add(check, FINDINGS_FAIL, text, NULL,
			"%u connections wait for the service and no more fit, so the kernel drops new ones: see why it does not accept them, or raise its backlog",
			socket->waiting);
		backlogs->full++;
	} else if (socket->backlog < ENOUGH_BACKLOG && sizeof(backlogs->small) - used > SOCKET_TEXT_MAX + 20) {
		snprintf(backlogs->small + used, sizeof(backlogs->small) - used, "%s%s (%u)", used ? ", " : "", text,
			socket->backlog);
	}
}

static void report_backlogs(struct check *check, const struct backlogs *backlogs, long somaxconn)
{
	uint64_t counters[TCP_COUNTER_COUNT];

	tcp_counters_read(counters);
	if (*backlogs->small)
		check_add(check, FINDINGS_WARN, backlogs->small, NULL,
			"fewer than %d connections can wait for the service, so bursts of new ones are lost: raise the backlog in its configuration",
			ENOUGH_BACKLOG);
	else if (!backlogs->full && somaxconn >= ENOUGH_SOMAXCONN)
		check_add(check, FINDINGS_OK, "", NULL,
			"%zu listening socket%s, no queue is full; TcpExtListenOverflows is %" PRIu64,
			backlogs->listeners, text_plural(backlogs->listeners), counters[TCP_COUNTER_LISTEN_OVERFLOWS]);
}

/* Without a VIP on this host, which check_vips() reports, no socket could serve one. */
static bool has_vip(const struct check_subject *subject)
{
	for (size_t i = 0; i < subject->vips.count; i++)
		if (addresses_within(&subject->addresses, &subject->vips.items[i]))
			return true;
	return false;
}

void check_backlog(struct check *check)
{
	const struct check_subject *subject = check->subject;
	const struct diag_sockets *sockets = &check->subject->sockets;
	struct backlogs backlogs = {0};
	long somaxconn = USUAL_SOMAXCONN;
	size_t servers = 0;

	system_setting(&somaxconn, "net/core/somaxconn");
	if (somaxconn < ENOUGH_SOMAXCONN)
		check_add(check, FINDINGS_WARN, "", "sysctl -w net.core.somaxconn=4096",
			"net.core.somaxconn is %ld, and no listen backlog can be larger: the services need a restart after it was raised",
			somaxconn);
	if (knows_sockets(check)) {
		for (size_t i = 0; i < sockets->count; i++) {
			const struct diag_socket *socket = &sockets->items[i];

			if (!sockets_serve_vip(socket, subject))
				continue;
			servers += !socket->connected;
			if (socket->protocol == IPPROTO_TCP)
				check_listener(check, socket, &backlogs);
		}
		if (!servers && has_vip(subject))
			check_add(check, FINDINGS_WARN, "", NULL,
				"no socket serves a VIP: start the service, and let it listen on the VIPs or on all addresses");
		else
			report_backlogs(check, &backlogs, somaxconn);
	}
}

static bool has_connected(const struct diag_sockets *sockets, const struct diag_socket *server)
{
	for (size_t i = 0; i < sockets->count; i++)
		if (sockets->items[i].connected && sockets->items[i].protocol == IPPROTO_UDP &&
			sockets->items[i].port == server->port)
			return true;
	return false;
}

void check_udp(struct check *check)
{
	const struct check_subject *subject = check->subject;
	const struct diag_sockets *sockets = &check->subject->sockets;
	bool reported = false;

	if (subject->settings.udp != REDIRECT_UDP_CONNECTED) {
		check_add(check, FINDINGS_OK, "", NULL, "the first hop accepts UDP");
		return;
	}
	if (knows_sockets(check)) {
		for (size_t i = 0; i < sockets->count; i++) {
			const struct diag_socket *socket = &sockets->items[i];
			char text[SOCKET_TEXT_MAX];

			if (socket->protocol != IPPROTO_UDP || socket->connected ||
				!vips_find(&subject->vips, &socket->address) || has_connected(sockets, socket))
				continue;
			check_add(check, FINDINGS_WARN, socket_text(socket, text), NULL,
				"no socket on this port is connected, but --udp connected needs servers that connect a socket for each client: attach with --udp first-hop unless the server does");
			reported = true;
		}
		if (!reported)
			check_add(check, FINDINGS_OK, "", NULL,
				"--udp connected, and the UDP servers have connected sockets");
	}
}

/* Returns whether `upper` is a VLAN on the interface or on its bridge or bond, or one of these two. */
static bool is_above(const struct check_subject *subject, const struct link *upper)
{
	if (upper == subject->link)
		return false;
	return upper == subject->ip || upper == links_vrf(&subject->links, subject->link) ||
	       (upper->lower && (upper->lower == subject->link->index || upper->lower == subject->ip->index));
}

void check_bound_sockets(struct check *check)
{
	const struct check_subject *subject = check->subject;
	const struct diag_sockets *sockets = &check->subject->sockets;
	bool reported = false;

	if (knows_sockets(check)) {
		for (size_t i = 0; i < sockets->count; i++) {
			const struct diag_socket *socket = &sockets->items[i];
			const struct link *link = socket->link ? links_by_index(&subject->links, socket->link) : NULL;
			char text[SOCKET_TEXT_MAX];

			if (!link || socket->connected || !sockets_serve_vip(socket, subject) || !is_above(subject, link))
				continue;
			check_add(check, FINDINGS_FAIL, socket_text(socket, text), NULL,
				"it is bound to %s, so the program on %s does not find its connections: do not bind it to an interface, or attach to %s with --mode generic",
				link->name, subject->interface, link->name);
			reported = true;
		}
		if (!reported)
			check_add(check, FINDINGS_OK, "", NULL, "the program finds the sockets of all services");
	}
}
