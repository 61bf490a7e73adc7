/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/addresses.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "redirect/host/netlink.h"

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
	struct address *items;
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
	items = realloc(addresses->items, (addresses->count + 1) * sizeof(*items));
	if (!items) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	addresses->items = items;
	addresses->items[addresses->count++] = address;
	return MNL_CB_OK;
}

int addresses_read(struct addresses *addresses)
{
	char buf[NETLINK_REQUEST_MAX] = {0};
	struct ifaddrmsg *header;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETADDR, NLM_F_DUMP, sizeof(*header), (void **)&header);

	*addresses = (struct addresses){0};
	return netlink_request(NETLINK_ROUTE, message, add_address, addresses);
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

static void read_metrics(const struct nlattr *metrics, struct default_route *route)
{
	const struct nlattr *attribute;

	mnl_attr_for_each_nested(attribute, metrics)
	{
		if (mnl_attr_get_type(attribute) == RTAX_MTU)
			route->mtu = mnl_attr_get_u32(attribute);
		else if (mnl_attr_get_type(attribute) == RTAX_ADVMSS)
			route->advmss = mnl_attr_get_u32(attribute);
	}
}

struct lookup {
	bool local;
	uint32_t mtu;
};

static int read_route(const struct nlmsghdr *message, void *data)
{
	const struct rtmsg *info = mnl_nlmsg_get_payload(message);
	struct default_route metrics = {0};
	const struct nlattr *attribute;
	struct lookup *lookup = data;

	if (message->nlmsg_type != RTM_NEWROUTE)
		return MNL_CB_OK;
	lookup->local = info->rtm_type == RTN_LOCAL;
	mnl_attr_for_each(attribute, message, sizeof(*info)) if (mnl_attr_get_type(attribute) == RTA_METRICS)
		read_metrics(attribute, &metrics);
	lookup->mtu = metrics.mtu;
	return MNL_CB_OK;
}

static struct lookup look_up(const struct netaddr *address)
{
	char buf[NETLINK_REQUEST_MAX] = {0};
	struct rtmsg *header;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETROUTE, 0, sizeof(*header), (void **)&header);
	struct lookup lookup = {0};

	header->rtm_family = address->family == NETADDR_V4 ? AF_INET : AF_INET6;
	header->rtm_dst_len = (uint8_t)netaddr_bits(address);
	mnl_attr_put(message, RTA_DST, netaddr_size(address), address->bytes);
	if (netlink_request(NETLINK_ROUTE, message, read_route, &lookup) != 0)
		lookup = (struct lookup){0};
	return lookup;
}

bool addresses_is_local(const struct netaddr *address)
{
	return look_up(address).local;
}

uint32_t addresses_route_mtu(const struct netaddr *address)
{
	return look_up(address).mtu;
}

struct default_routes {
	struct default_route *items;
	int count;
};

static void add_route(struct default_routes *routes, const struct default_route *route, uint32_t link)
{
	if (routes->count == DEFAULT_ROUTES_MAX || !link)
		return;
	routes->items[routes->count] = *route;
	routes->items[routes->count++].link = link;
}

static void read_next_hops(
	const struct nlattr *attribute, struct default_routes *routes, const struct default_route *route)
{
	const struct rtnexthop *hop = mnl_attr_get_payload(attribute);
	size_t left = mnl_attr_get_payload_len(attribute);

	while (left >= sizeof(*hop) && hop->rtnh_len >= sizeof(*hop) && hop->rtnh_len <= left) {
		size_t size = (size_t)RTNH_ALIGN(hop->rtnh_len);

		add_route(routes, route, (uint32_t)hop->rtnh_ifindex);
		left -= size < left ? size : left;
		hop = RTNH_NEXT(hop);
	}
}

static int add_default_route(const struct nlmsghdr *message, void *data)
{
	const struct rtmsg *info = mnl_nlmsg_get_payload(message);
	struct default_route route = {.family = family_of(info->rtm_family), .main = info->rtm_table == RT_TABLE_MAIN};
	const struct nlattr *attribute, *hops = NULL;

	if (message->nlmsg_type != RTM_NEWROUTE || info->rtm_dst_len || info->rtm_type != RTN_UNICAST ||
		info->rtm_flags & RTM_F_CLONED || route.family == NETADDR_NONE)
		return MNL_CB_OK;
	mnl_attr_for_each(attribute, message, sizeof(*info))
	{
		uint16_t type = mnl_attr_get_type(attribute);

		if (type == RTA_OIF)
			route.link = mnl_attr_get_u32(attribute);
		else if (type == RTA_METRICS)
			read_metrics(attribute, &route);
		else if (type == RTA_MULTIPATH)
			hops = attribute;
	}
	if (hops)
		read_next_hops(hops, data, &route);
	else
		add_route(data, &route, route.link);
	return MNL_CB_OK;
}

int addresses_default_routes(struct default_route items[DEFAULT_ROUTES_MAX])
{
	char buf[NETLINK_REQUEST_MAX] = {0};
	struct default_routes routes = {.items = items};
	struct rtmsg *header;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETROUTE, NLM_F_DUMP, sizeof(*header), (void **)&header);
	int error = netlink_request(NETLINK_ROUTE, message, add_default_route, &routes);

	return error ? error : routes.count;
}
