/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/underlay.h"

#define LOOPBACK_INDEX 1 /* VIPs are on lo */

static bool names(const struct redirect_prefixes *prefixes, enum netaddr_family family)
{
	for (size_t i = 0; i < prefixes->count; i++)
		if (prefixes->items[i].addr.family == family)
			return true;
	return false;
}

/* Returns whether another host can send to an address of this family, and the packet may pass a router. */
static bool host_has(const struct addresses *addresses, enum netaddr_family family)
{
	for (size_t i = 0; i < addresses->count; i++)
		if (addresses->items[i].link != LOOPBACK_INDEX && addresses->items[i].address.family == family &&
			!netaddr_is_link_local(&addresses->items[i].address))
			return true;
	return false;
}

bool underlay_has(const struct redirect_conf *conf, const struct addresses *addresses, enum netaddr_family family)
{
	bool is_ipv6 = !host_has(addresses, NETADDR_V4) && host_has(addresses, NETADDR_V6);

	return conf->allow_from.any ? is_ipv6 == (family == NETADDR_V6) : names(&conf->allow_from, family);
}
