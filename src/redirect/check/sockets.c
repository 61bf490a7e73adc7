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
#include "redirect/host/underlay.h"

#define ENOUGH_BACKLOG   128 /* connections; the usual minimum of servers */
#define ENOUGH_SOMAXCONN 1024
#define USUAL_SOMAXCONN  4096 /* the default since Linux 5.4 */

#define SOCKET_TEXT_MAX (NETADDR_TEXT_MAX + 10)

static const struct finding no_routes_for_cookies = {FINDINGS_WARN,
	"sysctl -w net.ipv4.conf.lo.forwarding=1 net.ipv6.conf.lo.forwarding=1",
	"the program with --syn-cookies on finds no routes, because forwarding is off on lo, so the kernel answers SYN floods"};
static const struct finding no_routes = {FINDINGS_FAIL, "sysctl -w net.{1}.conf.lo.forwarding=1",
	"the program with --forward fib finds no routes, because forwarding is off on lo, so it sends packets for the next hop to their sender"};
static const struct finding no_cookies = {FINDINGS_WARN, "sysctl -w net.ipv4.tcp_syncookies=1",
	"net.ipv4.tcp_syncookies is 0, so a SYN flood keeps clients out"};
static const struct finding small_somaxconn = {FINDINGS_WARN, "sysctl -w net.core.somaxconn=4096",
	"net.core.somaxconn is {1}, and no listen backlog can be larger: the services need a restart after it was raised"};
static const struct finding full = {FINDINGS_FAIL, NULL,
	"{1} connections wait for the service and no more fit, so the kernel drops new ones: see why it does not accept them, or raise its backlog"};
static const struct finding small_backlog = {FINDINGS_WARN, NULL,
	"fewer than {1} connections can wait for the service, so bursts of new ones are lost: raise the backlog in its configuration"};
static const struct finding no_server = {FINDINGS_WARN, NULL,
	"no socket serves a VIP: start the service, and let it listen on the VIPs or on all addresses"};
static const struct finding unconnected = {FINDINGS_WARN, NULL,
	"no socket on this port is connected, but --udp connected needs servers that connect a socket for each client: attach with --udp first-hop unless the server does"};
static const struct finding bound = {FINDINGS_FAIL, NULL,
	"it is bound to {1}, so the program on {2} does not find its connections: do not bind it to an interface, or attach to {1} with --mode generic"};

static const char *socket_text(const struct diag_socket *socket, char text[SOCKET_TEXT_MAX])
{
	char address[NETADDR_TEXT_MAX];
	bool v6 = socket->address.family == NETADDR_V6;

	snprintf(text, SOCKET_TEXT_MAX, "%s%s%s:%u", v6 ? "[" : "", netaddr_format(&socket->address, address),
		v6 ? "]" : "", socket->port);
	return text;
}

bool sockets_serve_vip(const struct diag_socket *socket, const struct check *check)
{
	return diag_is_any(socket) || vips_find(&check->vips, &socket->address);
}

/* Adds a finding if the sockets are not known. Returns whether they are. */
static bool knows_sockets(const struct check *check)
{
	if (check->sockets_error)
		findings_ok("", "not known: the kernel does not list its sockets: %s", strerror(-check->sockets_error));
	return !check->sockets_error;
}

static void check_route_lookups(const struct check *check)
{
	long ipv4 = 1, ipv6 = 1;
	bool fib = check->settings.forward == REDIRECT_FORWARD_FIB;

	system_setting(&ipv4, "net/ipv4/conf/lo/forwarding");
	system_setting(&ipv6, "net/ipv6/conf/lo/forwarding");
	if (check->settings.syn_cookies && !(ipv4 && ipv6))
		findings_add(&no_routes_for_cookies, "lo");
	else if (fib && !ipv4 && underlay_has(&check->conf, &check->addresses, NETADDR_V4))
		findings_add(&no_routes, "lo", "ipv4");
	else if (fib && !ipv6 && underlay_has(&check->conf, &check->addresses, NETADDR_V6))
		findings_add(&no_routes, "lo", "ipv6");
}

void check_syn_cookies(void *subject)
{
	const struct check *check = subject;
	long value = 1;

	check_route_lookups(check);
	system_setting(&value, "net/ipv4/tcp_syncookies");
	if (value)
		findings_ok("", "SYN cookies protect from SYN floods");
	else
		findings_add(&no_cookies, "");
}

struct backlogs {
	size_t listeners, full;
	char small[256]; /* a list of sockets */
};

static void check_listener(const struct diag_socket *socket, struct backlogs *backlogs)
{
	char text[SOCKET_TEXT_MAX];
	size_t used = strlen(backlogs->small);

	socket_text(socket, text);
	backlogs->listeners++;
	if (diag_is_full(socket)) {
		findings_add(&full, text, findings_value("%u", socket->waiting));
		backlogs->full++;
	} else if (socket->backlog < ENOUGH_BACKLOG && sizeof(backlogs->small) - used > SOCKET_TEXT_MAX + 20) {
		snprintf(backlogs->small + used, sizeof(backlogs->small) - used, "%s%s (%u)", used ? ", " : "", text,
			socket->backlog);
	}
}

static void report_backlogs(const struct backlogs *backlogs, long somaxconn)
{
	uint64_t counters[TCP_COUNTER_COUNT];

	tcp_counters_read(counters);
	if (*backlogs->small)
		findings_add(&small_backlog, backlogs->small, findings_value("%d", ENOUGH_BACKLOG));
	else if (!backlogs->full && somaxconn >= ENOUGH_SOMAXCONN)
		findings_ok("", "%zu listening socket%s, no queue is full; TcpExtListenOverflows is %" PRIu64,
			backlogs->listeners, text_plural(backlogs->listeners), counters[TCP_COUNTER_LISTEN_OVERFLOWS]);
}

/* Without a VIP on this host, which check_vips() reports, no socket could serve one. */
static bool has_vip(const struct check *check)
{
	for (size_t i = 0; i < check->vips.count; i++)
		if (addresses_within(&check->addresses, &check->vips.items[i]))
			return true;
	return false;
}

void check_backlog(void *subject)
{
	const struct check *check = subject;
	struct backlogs backlogs = {0};
	long somaxconn = USUAL_SOMAXCONN;
	size_t servers = 0;

	system_setting(&somaxconn, "net/core/somaxconn");
	if (somaxconn < ENOUGH_SOMAXCONN)
		findings_add(&small_somaxconn, "", findings_value("%ld", somaxconn));
	if (!knows_sockets(check))
		return;
	for (size_t i = 0; i < check->sockets.count; i++) {
		const struct diag_socket *socket = &check->sockets.items[i];

		if (!sockets_serve_vip(socket, check))
			continue;
		servers += !socket->connected;
		if (socket->protocol == IPPROTO_TCP)
			check_listener(socket, &backlogs);
	}
	if (!servers && has_vip(check))
		findings_add(&no_server, "");
	else
		report_backlogs(&backlogs, somaxconn);
}

static bool has_connected(const struct diag_sockets *sockets, const struct diag_socket *server)
{
	for (size_t i = 0; i < sockets->count; i++)
		if (sockets->items[i].connected && sockets->items[i].protocol == IPPROTO_UDP &&
			sockets->items[i].port == server->port)
			return true;
	return false;
}

void check_udp(void *subject)
{
	const struct check *check = subject;
	char text[SOCKET_TEXT_MAX];

	if (check->settings.udp != REDIRECT_UDP_CONNECTED) {
		findings_ok("", "the first hop accepts UDP");
		return;
	}
	if (!knows_sockets(check))
		return;
	for (size_t i = 0; i < check->sockets.count; i++) {
		const struct diag_socket *socket = &check->sockets.items[i];

		if (socket->protocol == IPPROTO_UDP && !socket->connected &&
			vips_find(&check->vips, &socket->address) && !has_connected(&check->sockets, socket))
			findings_add(&unconnected, socket_text(socket, text));
	}
	if (findings_none())
		findings_ok("", "--udp connected, and the UDP servers have connected sockets");
}

/* Returns whether `upper` is a VLAN on the interface or on its bridge or bond, or one of these two. */
static bool is_above(const struct check *check, const struct net_link *upper)
{
	if (upper == check->link)
		return false;
	return upper == check->ip || upper == links_vrf(&check->links, check->link) ||
	       (upper->lower && (upper->lower == check->link->index || upper->lower == check->ip->index));
}

void check_bound_sockets(void *subject)
{
	const struct check *check = subject;
	char text[SOCKET_TEXT_MAX];

	if (!knows_sockets(check))
		return;
	for (size_t i = 0; i < check->sockets.count; i++) {
		const struct diag_socket *socket = &check->sockets.items[i];
		const struct net_link *link = socket->link ? links_by_index(&check->links, socket->link) : NULL;

		if (link && !socket->connected && sockets_serve_vip(socket, check) && is_above(check, link))
			findings_add(&bound, socket_text(socket, text), link->name, check->interface);
	}
	if (findings_none())
		findings_ok("", "the program finds the sockets of all services");
}
