/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of addresses, routes and sizes. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "gue/encapsulate.h"
#include "redirect/check/check.h"
#include "redirect/host/system.h"
#include "redirect/host/underlay.h"

/* In bytes. */
#define CLIENT_MTU     1500 /* largest packet of most clients */
#define TCP_HEADERS_V4 40
#define TCP_HEADERS_V6 60
#define ROOMY_MTU(mtu) (((mtu) + 99) / 100 * 100)

#define MOVE "ip address del {0}/{2} dev {1}; ip address add {0}/{3} dev lo{4}"

#define MAX_PATHS 256 /* to look up */

static const struct finding no_vip = {FINDINGS_FAIL, "ip address add VIP/32 dev lo",
	"it has no VIP: add the VIPs, or name them with --vip if they are elsewhere"};
static const struct finding missing = {
	FINDINGS_FAIL, "ip address add {0}/{2} dev lo{3}", "it is not an address of this host, so {1}"};
static const struct finding missing_in = {FINDINGS_FAIL, NULL, "this host has no address in it, so {1}"};
/* A prefix that is no single address cannot be moved. */
static const struct finding duplicate = {FINDINGS_FAIL, MOVE,
	"the kernel does not use it on {1}, because another host has it, too (duplicate address detection)"};
static const struct finding on_down = {FINDINGS_FAIL, NULL, "it is on {1}, which is down"};
static const struct finding claimed = {
	FINDINGS_WARN, MOVE, "it is on {1}, so every proxy claims it on its network: put it on lo"};
static const struct finding left_out = {FINDINGS_WARN, NULL, "only {1} of {2} VIPs are checked: name others with --vip"};
/* '/' as separator, because names of interfaces have dots. */
static const struct finding strict_rp_filter = {FINDINGS_FAIL, "sysctl -w net/ipv4/conf/{0}/rp_filter=2",
	"rp_filter is strict, and {1}: the kernel drops packets of clients whose route does not use {0}"};
static const struct finding no_ipv4_route = {FINDINGS_FAIL, NULL,
	"it has no IPv4 address, and no IPv4 default route uses it, so with rp_filter {1} the kernel drops IPv4 packets of clients: ip -4 route add default via inet6 ROUTER dev {0}"};
static const struct finding answers_arp = {FINDINGS_WARN,
	"sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2",
	"it belongs to the network of {1}, where this host answers ARP requests for it"};
static const struct finding large_replies = {FINDINGS_WARN, NULL,
	"its MTU of {1} is also that of replies to clients (default route of IPv{2}): put 'mtu {3}' on the default route (ip route change default ... mtu {3})"};
static const struct finding narrow_path = {FINDINGS_WARN, NULL,
	"the route to it, or its path, has an MTU of {1}, and packets of {2} bytes for the next hop need {3} with {4} hops: raise it on the whole path"};
static const struct finding no_room = {FINDINGS_WARN, "ip link set dev {0} mtu {5}",
	"an MTU of {1} has no room for packets of {2} bytes and the outer headers ({3} bytes with {6} hops; add --hops for another number), so large uploads can hang: raise it on the whole path, or set 'advmss {4}' on the default routes"};

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
static bool forwards(const struct check *check, uint8_t family)
{
	long forwarding = 0;

	system_setting(&forwarding, "net/%s/conf/%s/forwarding", family == NETADDR_V4 ? "ipv4" : "ipv6", check->ip->name);
	return forwarding;
}

static const char *nodad(const struct netprefix *vip)
{
	return vip->addr.family == NETADDR_V6 ? " nodad" : "";
}

static void report_missing(const struct check *check, const struct netprefix *vip)
{
	const char *consequence = "the kernel drops clients' packets";

	if (check->conf.allow_to_local)
		consequence = "glb-redirect drops clients' packets (allow_to is \"local\")";
	else if (forwards(check, vip->addr.family))
		consequence = "the kernel routes clients' packets out again, because forwarding is on";
	findings_add(is_single(vip) ? &missing : &missing_in, prefix_text(vip), consequence,
		findings_value("%u", vip->length), nodad(vip));
}

/* Adds a finding about a VIP that is an address of this link. */
static void report_address(const struct netprefix *vip, const struct address *address, const struct net_link *link)
{
	struct finding finding = {.text = NULL};

	if (address->unusable)
		finding = duplicate;
	else if (!(link->flags & IFF_UP))
		finding = on_down;
	else if (!(link->flags & (IFF_LOOPBACK | IFF_NOARP)))
		finding = claimed;
	if (!is_single(vip))
		finding.command = NULL;
	if (finding.text)
		findings_add(&finding, prefix_text(vip), link->name, findings_value("%u", address->prefix_length),
			findings_value("%u", netaddr_bits(&address->address)), nodad(vip));
}

/* Adds a finding if the VIP is not usable where it is. */
static void report_vip(const struct check *check, const struct netprefix *vip)
{
	const struct address *address = addresses_within(&check->addresses, vip);
	const struct net_link *link = address ? links_by_index(&check->links, address->link) : NULL;

	if (link)
		report_address(vip, address, link);
	else if (!address && !(is_single(vip) && addresses_is_local(&vip->addr)) && /* a local route (AnyIP) */
		 (check->conf.allow_to_local || !firewall_translates(check, vip)))
		report_missing(check, vip);
}

void check_vips(void *subject)
{
	const struct check *check = subject;
	char list[256] = "";

	if (!check->vips.count)
		findings_add(&no_vip, "lo");
	for (size_t i = 0; i < check->vips.count; i++) {
		size_t used = strlen(list);

		report_vip(check, &check->vips.items[i]);
		if (sizeof(list) - used > NETPREFIX_TEXT_MAX + 8)
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				prefix_text(&check->vips.items[i]));
		else if (strcmp(list + used - 4, " ...") != 0)
			strcpy(list + used, " ...");
	}
	if (check->vips.left_out)
		findings_add(&left_out, "", findings_value("%d", VIPS_MAX),
			findings_value("%zu", VIPS_MAX + check->vips.left_out));
	else if (findings_none())
		findings_ok("", "this host has %s", list);
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
static void report_rp_filter(const struct net_link *link, bool has_address)
{
	long all = 0, own = 0;
	bool others;

	system_setting(&all, "net/ipv4/conf/all/rp_filter");
	if (!system_setting(&own, "net/ipv4/conf/%s/rp_filter", link->name))
		return;
	all = all > own ? all : own;
	if (all == 0 || has_default_route(link->index, NETADDR_V4, &others))
		return;
	/* 1: strict. 2 is larger, and only wants any route, but not without an address. */
	if (!has_address)
		findings_add(&no_ipv4_route, link->name, findings_value("%ld", all));
	else if (all == 1)
		findings_add(&strict_rp_filter, link->name,
			others ? "the default route uses another interface" : "there is no default route");
}

static bool has_v4_address(const struct check *check, const struct net_link *link)
{
	for (size_t i = 0; i < check->addresses.count; i++)
		if (check->addresses.items[i].link == link->index &&
			check->addresses.items[i].address.family == NETADDR_V4)
			return true;
	return false;
}

/* Without VIPs, this host may serve both families. */
static bool serves(const struct check *check, uint8_t family)
{
	if (!check->vips.count)
		return true;
	for (size_t i = 0; i < check->vips.count; i++)
		if (check->vips.items[i].addr.family == family)
			return true;
	return false;
}

/* Returns whether IPv4 packets of clients come with outer IPv6 to a host whose interfaces have no IPv4. */
static bool is_only_ipv6(const struct check *check)
{
	return serves(check, NETADDR_V4) && !underlay_has(&check->conf, &check->addresses, NETADDR_V4);
}

void check_rp_filter(void *subject)
{
	const struct check *check = subject;

	for (size_t i = 0; i < check->links.count; i++) {
		const struct net_link *link = &check->links.items[i];
		bool is_vlan = link->lower == check->ip->index && strcmp(link->kind, "vlan") == 0;

		bool has_address = has_v4_address(check, link);

		if (has_address ? is_vlan || link == check->ip : link == check->ip && is_only_ipv6(check))
			report_rp_filter(link, has_address);
	}
	if (findings_none())
		findings_ok(check->interface, "rp_filter passes the clients' packets");
}

/* Returns the first VIP in the network of the address for which this host would answer, or NULL. */
static const struct netprefix *vip_beside(const struct check *check, const struct address *address)
{
	struct netprefix segment = {.addr = address->address, .length = address->prefix_length};

	netprefix_mask(segment.addr.bytes, netaddr_size(&segment.addr), segment.length);
	for (size_t i = 0; i < check->vips.count && address->link == check->ip->index; i++) {
		const struct netprefix *vip = &check->vips.items[i];

		if (is_single(vip) && netprefix_covers(&segment, &vip->addr) && vip->addr.family == NETADDR_V4 &&
			netaddr_compare(&vip->addr, &address->address) != 0)
			return vip;
	}
	return NULL;
}

void check_arp(void *subject)
{
	const struct check *check = subject;
	const struct netprefix *vip = NULL;
	long all = 0, own = 0;

	system_setting(&all, "net/ipv4/conf/all/arp_ignore");
	system_setting(&own, "net/ipv4/conf/%s/arp_ignore", check->ip->name);
	for (size_t i = 0; i < check->addresses.count && !vip && all <= 0 && own <= 0; i++)
		vip = vip_beside(check, &check->addresses.items[i]);
	if (vip)
		findings_add(&answers_arp, prefix_text(vip), check->ip->name);
	else
		findings_ok(check->interface, "this host answers no ARP request for a VIP");
}

static uint32_t overhead_of(const struct check *check, uint8_t family)
{
	bool ipv6 = family == NETADDR_V6;

	return encapsulate_outer_size(ipv6, encapsulate_hops(ipv6, check->hops));
}

/* Returns the bytes of the outer headers, of the longer ones if this host gets both kinds. */
static uint32_t overhead(const struct check *check)
{
	return overhead_of(check, underlay_has(&check->conf, &check->addresses, NETADDR_V6) ? NETADDR_V6 : NETADDR_V4);
}

/* Returns whether clients of this family send segments that fit, because of advmss on each default route. */
static bool segments_fit(const struct check *check, uint8_t family)
{
	uint32_t headers = family == NETADDR_V4 ? TCP_HEADERS_V4 : TCP_HEADERS_V6;
	struct default_route routes[DEFAULT_ROUTES_MAX];
	int count = addresses_default_routes(routes), fitting = 0, all = 0;

	for (int i = 0; i < count; i++) {
		if (routes[i].family != family || !routes[i].main)
			continue;
		all++;
		fitting += routes[i].advmss && routes[i].advmss + headers + overhead(check) <= check->link->mtu;
	}
	return all && fitting == all;
}

/* Adds a finding about a default route by which this host would send clients larger packets than they can get. */
static void report_large_replies(const struct check *check)
{
	struct default_route routes[DEFAULT_ROUTES_MAX];
	int count = addresses_default_routes(routes);

	for (int i = 0; i < count && check->ip->mtu > CLIENT_MTU; i++)
		if (routes[i].link == check->ip->index && routes[i].main && !routes[i].mtu &&
			serves(check, routes[i].family)) {
			findings_add(&large_replies, check->ip->name, findings_value("%u", check->ip->mtu),
				routes[i].family == NETADDR_V4 ? "4" : "6", findings_value("%d", CLIENT_MTU));
			return;
		}
}

/* Adds a finding if the path to a host that next_hops names is narrower than the interface. */
static void report_narrow_path(const struct check *check)
{
	const struct redirect_prefixes *hosts = &check->conf.next_hops;
	for (size_t i = 0; i < hosts->count && i < MAX_PATHS; i++) {
		const struct netprefix *host = &hosts->items[i];
		uint32_t mtu = is_single(host) ? addresses_route_mtu(&host->addr) : 0;
		uint32_t needed = CLIENT_MTU + overhead_of(check, host->addr.family);

		if (!mtu || mtu >= needed)
			continue;
		findings_add(&narrow_path, prefix_text(host), findings_value("%u", mtu), findings_value("%d", CLIENT_MTU),
			findings_value("%u", needed), findings_value("%u", check->hops));
		return;
	}
}

void check_mtu(void *subject)
{
	const struct check *check = subject;
	uint32_t mtu = check->link->mtu, headers = overhead(check);

	if (mtu >= CLIENT_MTU + headers) {
		report_narrow_path(check);
		report_large_replies(check);
		if (findings_none())
			findings_ok(check->interface,
				"an MTU of %u has room for packets of %d bytes and the outer headers of %u hops", mtu,
				CLIENT_MTU, check->hops);
	} else if ((!serves(check, NETADDR_V4) || segments_fit(check, NETADDR_V4)) &&
		   (!serves(check, NETADDR_V6) || segments_fit(check, NETADDR_V6))) {
		findings_ok(check->interface,
			"an MTU of %u; advmss on the default routes keeps clients' TCP segments small enough for %u hops",
			mtu, check->hops);
	} else {
		findings_add(&no_room, check->interface, findings_value("%u", mtu), findings_value("%d", CLIENT_MTU),
			findings_value("%u", headers), findings_value("%u", mtu - headers - TCP_HEADERS_V6),
			findings_value("%u", ROOMY_MTU(CLIENT_MTU + headers)), findings_value("%u", check->hops));
	}
}
