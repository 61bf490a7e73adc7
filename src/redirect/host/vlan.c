/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/vlan.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "program/host/device.h"
#include "redirect/host/links.h"

#define MAX_DEPTH 4 /* of VLANs on VLANs */

static int strips_tags(const char *interface, bool *strips)
{
	struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
	/* A device without ethtool removes nothing. */
	int error = device_ethtool(interface, &flags) != 0 && errno != EOPNOTSUPP ? -errno : 0;

	*strips = flags.data & ETH_FLAG_RXVLAN;
	return error;
}

/* Returns whether frames of the VLAN interface `link` arrive on `device`, or on the bridge or bond of which it is a
 * member. */
static bool is_vlan_on(const struct links *links, const struct net_link *link, const struct net_link *device)
{
	for (int i = 0; i < MAX_DEPTH && link && strcmp(link->kind, "vlan") == 0; i++) {
		link = links_by_index(links, link->lower);
		if (link && (link == device || link == links_of_ip(links, device)))
			return true;
	}
	return false;
}

/* Returns the VLAN interface on `device` whose frames reach the interface `index`, maybe a bridge; NULL: none. */
static const struct net_link *vlan_below(const struct links *links, uint32_t index, const struct net_link *device)
{
	for (size_t i = 0; i < links->count; i++) {
		const struct net_link *link = &links->items[i];

		if (is_vlan_on(links, link, device) && links_of_ip(links, link)->index == index)
			return link;
	}
	return NULL;
}

/* Sets *stripping by the addresses of this family. Returns false if the device and its VLANs have none. */
static bool judge(const struct links *links, const struct addresses *addresses, const struct net_link *device,
	enum netaddr_family family, enum vlan_stripping *stripping, char vlan[IFNAMSIZ])
{
	bool tagged = false, untagged = false;

	for (size_t i = 0; i < addresses->count; i++) {
		const struct address *address = &addresses->items[i];
		const struct net_link *link;

		if (address->address.family != family || netaddr_is_link_local(&address->address))
			continue;
		link = vlan_below(links, address->link, device);
		if (link)
			snprintf(vlan, IFNAMSIZ, "%s", link->name);
		tagged = tagged || link;
		untagged = untagged || links_of_ip(links, device)->index == address->link;
	}
	if (tagged)
		*stripping = untagged ? VLAN_MAYBE_STRIPPED : VLAN_STRIPPED;
	return tagged || untagged;
}

/* ipv6: GUE may have outer IPv6 even if there are IPv4 addresses, which then are perhaps not those of GUE. */
static void judge_both(const struct links *links, const struct addresses *addresses, const struct net_link *device,
	bool ipv6, enum vlan_stripping *stripping, char vlan[IFNAMSIZ])
{
	bool ipv4 = judge(links, addresses, device, NETADDR_V4, stripping, vlan);

	if (*stripping != VLAN_NOT_STRIPPED || (ipv4 && !ipv6))
		return;
	judge(links, addresses, device, NETADDR_V6, stripping, vlan);
	if (ipv4 && *stripping == VLAN_STRIPPED)
		*stripping = VLAN_MAYBE_STRIPPED;
}

int vlan_find(const char *interface, const struct addresses *addresses, bool ipv6, enum vlan_stripping *stripping,
	char vlan[IFNAMSIZ])
{
	const struct net_link *device;
	struct links links = {0};
	bool strips;
	int error = strips_tags(interface, &strips);

	*stripping = VLAN_NOT_STRIPPED;
	if (error || !strips)
		return error;
	error = links_read(&links);
	device = links_by_name(&links, interface);
	if (!error && device)
		judge_both(&links, addresses, device, ipv6, stripping, vlan);
	links_free(&links);
	return error;
}
