/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of addresses, routes and sizes. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "redirect/check/check.h"
#include "redirect/host/system.h"

/* In bytes. */
#define CLIENT_MTU        1500 /* largest packet of most clients */
#define OVERHEAD_TWO_HOPS 40 /* IPv4, UDP and GUE headers with one hop after the first: docs/reference/gue.md */
#define TCP_HEADERS_V4    40
#define TCP_HEADERS_V6    60
#define ROOMY_MTU         1600

#define MAX_PATHS 256 /* to look up */

static const char *prefix_text(const struct netprefix *prefix)
{
	static char text[NETPREFIX_TEXT_MAX];

	return netprefix_format(prefix, text);
}

static bool is_single(const struct netprefix *prefix)
{
	return prefix->length == netaddr_bits(&prefix->addr);
}

/* Returns whether the kernel forwards packets of this family that arrive on the interface. */
static bool forwards(const struct check_subject *subject, uint8_t family)
{
	long forwarding = 0;

	system_setting(
		&forwarding, "net/%s/conf/%s/forwarding", family == NETADDR_V4 ? "ipv4" : "ipv6", subject->ip->name);
	return forwarding;
}

static void report_missing(struct check *check, const struct netprefix *vip)
{
	const struct check_subject *subject = check->subject;
	const char *consequence = "the kernel drops clients' packets";
	char command[FINDINGS_COMMAND_MAX] = "";

	if (is_single(vip))
		snprintf(command, sizeof(command), "ip address add %s/%u dev lo%s", prefix_text(vip), vip->length,
			vip->addr.family == NETADDR_V6 ? " nodad" : "");
	if (subject->conf.allow_to_local)
		consequence = "glb-redirect drops clients' packets (allow_to is \"local\")";
	else if (forwards(subject, vip->addr.family))
		consequence = "the kernel routes clients' packets out again, because forwarding is on";
	check_add(check, FINDINGS_FAIL, prefix_text(vip), *command ? command : NULL, "%s, so %s",
		is_single(vip) ? "it is not an address of this host" : "this host has no address in it", consequence);
}

/* Adds a finding if the VIP is not usable where it is. Returns whether it did. */
static bool report_vip(struct check *check, const struct netprefix *vip)
{
	const struct check_subject *subject = check->subject;
	const struct address *address = addresses_within(&subject->addresses, vip);
	const struct link *link = address ? links_by_index(&subject->links, address->link) : NULL;
	char command[FINDINGS_COMMAND_MAX];

	if (!address && is_single(vip) && addresses_is_local(&vip->addr))
		return false; /* a local route (AnyIP) */
	if (!address && !subject->conf.allow_to_local && firewall_translates(subject, vip))
		return false;
	if (!address) {
		report_missing(check, vip);
		return true;
	}
	if (!link)
		return false;
	snprintf(command, sizeof(command), "ip address del %s/%u dev %s; ip address add %s/%u dev lo%s",
		prefix_text(vip), address->prefix_length, link->name, prefix_text(vip), netaddr_bits(&address->address),
		vip->addr.family == NETADDR_V6 ? " nodad" : "");
	if (address->unusable)
		check_add(check, FINDINGS_FAIL, prefix_text(vip), is_single(vip) ? command : NULL,
			"the kernel does not use it on %s, because another host has it, too (duplicate address detection)",
			link->name);
	else if (!(link->flags & IFF_UP))
		check_add(check, FINDINGS_FAIL, prefix_text(vip), NULL, "it is on %s, which is down", link->name);
	else if (!(link->flags & (IFF_LOOPBACK | IFF_NOARP)))
		check_add(check, FINDINGS_WARN, prefix_text(vip), is_single(vip) ? command : NULL,
			"it is on %s, so every proxy claims it on its network: put it on lo", link->name);
	else
		return false;
	return true;
}

void check_vips(struct check *check)
{
	const struct check_subject *subject = check->subject;
	char list[256] = "";
	bool reported = false;

	if (!subject->vips.count) {
		check_add(check, FINDINGS_FAIL, "lo", "ip address add VIP/32 dev lo",
			"it has no VIP: add the VIPs, or name them with --vip if they are elsewhere");
		return;
	}
	for (size_t i = 0; i < subject->vips.count; i++) {
		size_t used = strlen(list);

		reported |= report_vip(check, &subject->vips.items[i]);
		if (sizeof(list) - used > NETPREFIX_TEXT_MAX + 8)
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				prefix_text(&subject->vips.items[i]));
		else if (strcmp(list + used - 4, " ...") != 0)
			strcpy(list + used, " ...");
	}
	if (subject->vips.left_out)
		check_add(check, FINDINGS_WARN, "", NULL, "only %d of %zu VIPs are checked: name others with --vip",
			VIPS_MAX, VIPS_MAX + subject->vips.left_out);
	else if (!reported)
		check_add(check, FINDINGS_OK, "", NULL, "this host has %s", list);
}

/* Returns whether a default route of this family leaves by the interface. *others: whether there is another one. */
static bool has_default_route(uint32_t link, uint8_t family, bool *others)
{
	struct default_route routes[DEFAULT_ROUTES_MAX];
	int count = addresses_default_routes(routes);
	bool has = false;

	*others = false;
	for (int i = 0; i < count; i++) {
		has |= routes[i].family == family && routes[i].link == link;
		*others |= routes[i].family == family && routes[i].link != link;
	}
	return has;
}

/* The kernel checks sources where the inner packet enters the IP layer: on the interface, its bridge or bond, or its
 * VLANs. */
static bool report_rp_filter(struct check *check, const struct link *link)
{
	long all = 0, own = 0;
	char command[FINDINGS_COMMAND_MAX];
	bool others;

	system_setting(&all, "net/ipv4/conf/all/rp_filter");
	if (!system_setting(&own, "net/ipv4/conf/%s/rp_filter", link->name))
		return false;
	/* 1: strict. 2 is larger, and only wants any route. */
	if ((all > own ? all : own) != 1 || has_default_route(link->index, NETADDR_V4, &others))
		return false;
	/* '/' as separator, because names of interfaces have dots. */
	snprintf(command, sizeof(command), "sysctl -w net/ipv4/conf/%s/rp_filter=2", link->name);
	check_add(check, FINDINGS_FAIL, link->name, command,
		"rp_filter is strict, and %s: the kernel drops packets of clients whose route does not use %s",
		others ? "the default route uses another interface" : "there is no default route", link->name);
	return true;
}

void check_rp_filter(struct check *check)
{
	const struct check_subject *subject = check->subject;
	bool reported = false;

	for (size_t i = 0; i < subject->links.count; i++) {
		const struct link *link = &subject->links.items[i];
		bool is_vlan = link->lower == subject->ip->index && strcmp(link->kind, "vlan") == 0, has_address = false;

		for (size_t j = 0; j < subject->addresses.count; j++)
			has_address |= subject->addresses.items[j].link == link->index &&
				       subject->addresses.items[j].address.family == NETADDR_V4;
		if (has_address && (is_vlan || link == subject->ip))
			reported |= report_rp_filter(check, link);
	}
	if (!reported)
		check_ok(check, "rp_filter passes the clients' packets");
}

void check_arp(struct check *check)
{
	const struct check_subject *subject = check->subject;
	long all = 0, own = 0;

	system_setting(&all, "net/ipv4/conf/all/arp_ignore");
	system_setting(&own, "net/ipv4/conf/%s/arp_ignore", subject->ip->name);
	for (size_t i = 0; i < subject->addresses.count; i++) {
		const struct address *address = &subject->addresses.items[i];
		struct netprefix segment = {.addr = address->address, .length = address->prefix_length};

		netprefix_mask(segment.addr.bytes, netaddr_size(&segment.addr), segment.length);
		for (size_t j = 0; j < subject->vips.count && address->link == subject->ip->index; j++) {
			const struct netprefix *vip = &subject->vips.items[j];

			if (!is_single(vip) || !netprefix_covers(&segment, &vip->addr) || all > 0 || own > 0 ||
				vip->addr.family != NETADDR_V4 || netaddr_compare(&vip->addr, &address->address) == 0)
				continue;
			check_add(check, FINDINGS_WARN, prefix_text(vip),
				"sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2",
				"it belongs to the network of %s, where this host answers ARP requests for it",
				subject->ip->name);
			return;
		}
	}
	check_ok(check, "this host answers no ARP request for a VIP");
}

/* Returns whether clients of this family send segments that fit, because of advmss on each default route. */
static bool segments_fit(uint8_t family, uint32_t mtu)
{
	uint32_t headers = family == NETADDR_V4 ? TCP_HEADERS_V4 : TCP_HEADERS_V6;
	struct default_route routes[DEFAULT_ROUTES_MAX];
	int count = addresses_default_routes(routes), fitting = 0, all = 0;

	for (int i = 0; i < count; i++) {
		if (routes[i].family != family || !routes[i].main)
			continue;
		all++;
		fitting += routes[i].advmss && routes[i].advmss + headers + OVERHEAD_TWO_HOPS <= mtu;
	}
	return all && fitting == all;
}

/* Without VIPs, this host may serve both families. */
static bool serves(const struct check_subject *subject, uint8_t family)
{
	if (!subject->vips.count)
		return true;
	for (size_t i = 0; i < subject->vips.count; i++)
		if (subject->vips.items[i].addr.family == family)
			return true;
	return false;
}

/* Adds a finding about default routes by which this host would send clients larger packets than they can get. */
static bool report_large_replies(struct check *check, uint32_t mtu)
{
	const struct check_subject *subject = check->subject;
	struct default_route routes[DEFAULT_ROUTES_MAX];
	int count = addresses_default_routes(routes);

	for (int i = 0; i < count && mtu > CLIENT_MTU; i++)
		if (routes[i].link == subject->ip->index && routes[i].main && !routes[i].mtu &&
			serves(subject, routes[i].family)) {
			check_add(check, FINDINGS_WARN, subject->ip->name, NULL,
				"its MTU of %u is also that of replies to clients (default route of IPv%d): put 'mtu %d' on the default route (ip route change default ... mtu %d)",
				mtu, routes[i].family == NETADDR_V4 ? 4 : 6, CLIENT_MTU, CLIENT_MTU);
			return true;
		}
	return false;
}

/* Adds a finding if the path to a host that the list names is narrower than the interface. Returns whether it did. */
static bool report_narrow_path(struct check *check, const struct redirect_prefixes *hosts)
{
	for (size_t i = 0; i < hosts->count && i < MAX_PATHS; i++) {
		const struct netprefix *host = &hosts->items[i];
		uint32_t mtu = is_single(host) ? addresses_route_mtu(&host->addr) : 0;

		if (!mtu || mtu >= CLIENT_MTU + OVERHEAD_TWO_HOPS)
			continue;
		check_add(check, FINDINGS_WARN, prefix_text(host), NULL,
			"the route to it, or its path, has an MTU of %u, and packets of %d bytes for the next hop need %d: raise it on the whole path",
			mtu, CLIENT_MTU, CLIENT_MTU + OVERHEAD_TWO_HOPS);
		return true;
	}
	return false;
}

void check_mtu(struct check *check)
{
	const struct check_subject *subject = check->subject;
	uint32_t mtu = subject->link->mtu;
	char command[FINDINGS_COMMAND_MAX];

	if (mtu >= CLIENT_MTU + OVERHEAD_TWO_HOPS) {
		bool reported = report_narrow_path(check, &subject->conf.next_hops);

		if (!report_large_replies(check, subject->ip->mtu) && !reported)
			check_ok(check, "an MTU of %u has room for packets of %d bytes and the outer headers", mtu,
				CLIENT_MTU);
		return;
	}
	if ((!serves(subject, NETADDR_V4) || segments_fit(NETADDR_V4, mtu)) &&
		(!serves(subject, NETADDR_V6) || segments_fit(NETADDR_V6, mtu))) {
		check_ok(check, "an MTU of %u; advmss on the default routes keeps clients' TCP segments small", mtu);
		return;
	}
	snprintf(command, sizeof(command), "ip link set dev %s mtu %d", subject->interface, ROOMY_MTU);
	check_add(check, FINDINGS_WARN, subject->interface, command,
		"an MTU of %u has no room for packets of %d bytes and the outer headers (%d bytes with two hops), so large uploads can hang: raise it on the whole path, or set 'advmss %u' on the default routes",
		mtu, CLIENT_MTU, OVERHEAD_TWO_HOPS, mtu - OVERHEAD_TWO_HOPS - TCP_HEADERS_V6);
}
