/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/addresses.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "program/netlink/netlink.h"
#include "program/netlink/rtnetlink.h"

static enum netaddr_family family_of(uint8_t family)
{
	return family == AF_INET ? NETADDR_V4 : family == AF_INET6 ? NETADDR_V6 : NETADDR_NONE;
}

static bool is_address(const struct nlattr *attribute, enum netaddr_family family)
{
	return mnl_attr_get_payload_len(attribute) == (family == NETADDR_V4 ? 4 : 16);
}

static int add_address(const struct nlmsghdr *message, void *data)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(message);
	enum netaddr_family family = family_of(info->ifa_family);
	struct address address = {.prefix_length = info->ifa_prefixlen, .link = info->ifa_index};
	uint32_t flags = info->ifa_flags;
	const struct nlattr *attribute;
	struct addresses *addresses = data;
	struct address *added;
	bool has_local = false;

	if (message->nlmsg_type != RTM_NEWADDR || family == NETADDR_NONE)
		return MNL_CB_OK;
	mnl_attr_for_each(attribute, message, sizeof(*info))
	{
		uint16_t type = mnl_attr_get_type(attribute);

		/* IFA_ADDRESS of a point-to-point link is the peer's. */
		if ((type == IFA_LOCAL || (type == IFA_ADDRESS && !has_local)) && is_address(attribute, family))
			address.address = netaddr_from_bytes(family, mnl_attr_get_payload(attribute));
		has_local |= type == IFA_LOCAL;
		if (type == IFA_FLAGS)
			flags = mnl_attr_get_u32(attribute);
	}
	address.unusable =
		family == NETADDR_V6 && flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED) && !(flags & IFA_F_OPTIMISTIC);
	added = array_append(&addresses->items, &addresses->count, sizeof(*added));
	if (!added)
		return MNL_CB_ERROR;
	*added = address;
	return MNL_CB_OK;
}

int addresses_read(struct addresses *addresses)
{
	char buf[NETLINK_MAX];
	struct ifaddrmsg *header;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETADDR, NLM_F_DUMP, sizeof(*header), (void **)&header);

	*addresses = (struct addresses){0};
	return netlink_dump(NETLINK_ROUTE, message, add_address, addresses);
}

void addresses_free(struct addresses *addresses)
{
	free(addresses->items);
	*addresses = (struct addresses){0};
}

const struct address *addresses_within(const struct addresses *addresses, const struct netprefix *prefix)
{
	for (size_t i = 0; i < addresses->count; i++)
		if (netprefix_covers(prefix, &addresses->items[i].address))
			return &addresses->items[i];
	return NULL;
}

/* Sets *route to the one that packets for this address would take. Returns false if there is none. */
static bool look_up(const struct netaddr *address, struct route *route)
{
	char buf[NETLINK_MAX];
	struct rtmsg *header;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETROUTE, 0, sizeof(*header), (void **)&header);
	struct netlink netlink;
	bool found;

	header->rtm_family = address->family == NETADDR_V4 ? AF_INET : AF_INET6;
	header->rtm_dst_len = (uint8_t)netaddr_bits(address);
	mnl_attr_put(message, RTA_DST, netaddr_size(address), address->bytes);
	found = netlink_open(&netlink, NETLINK_ROUTE) == 0 && netlink_get(&netlink, message) == 0 &&
		rtnetlink_read_route(message, route);
	netlink_close(&netlink);
	return found;
}

bool addresses_is_local(const struct netaddr *address)
{
	struct route route;

	return look_up(address, &route) && route.type == RTN_LOCAL;
}

uint32_t addresses_route_mtu(const struct netaddr *address)
{
	struct route route;

	return look_up(address, &route) ? route.mtu : 0;
}

struct default_routes {
	struct default_route *items;
	int count;
};

static int add_default_route(const struct nlmsghdr *message, void *data)
{
	struct default_routes *routes = data;
	struct route route;

	if (!rtnetlink_read_route(message, &route) || route.destination.length || route.type != RTN_UNICAST ||
		route.cloned)
		return MNL_CB_OK;
	for (uint32_t i = 0; i < route.count && routes->count < DEFAULT_ROUTES_MAX; i++)
		if (route.next_hops[i].key.interface)
			routes->items[routes->count++] = (struct default_route){
				.family = route.destination.addr.family,
				.main = route.main,
				.link = route.next_hops[i].key.interface,
				.mtu = route.mtu,
				.advmss = route.advmss,
			};
	return MNL_CB_OK;
}

int addresses_default_routes(struct default_route items[DEFAULT_ROUTES_MAX])
{
	char buf[NETLINK_MAX];
	struct default_routes routes = {.items = items};
	struct rtmsg *header;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETROUTE, NLM_F_DUMP, sizeof(*header), (void **)&header);
	int error = netlink_dump(NETLINK_ROUTE, message, add_default_route, &routes);

	return error ? error : routes.count;
}
