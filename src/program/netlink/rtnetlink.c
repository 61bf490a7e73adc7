/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/netlink/rtnetlink.h"

#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#define MAC_SIZE 6

/* The loops of libmnl read up to three bytes behind a message whose size is no multiple of four. */
#define EACH(attribute, begin, end)                                    \
	for (attribute = (const struct nlattr *)(const void *)(begin); \
		mnl_attr_ok(attribute, (int)((end) - (const char *)attribute)); attribute = mnl_attr_next(attribute))

/* The attribute types of a route and of a nexthop object that mean the same. */
struct next_hop_types {
	uint16_t interface, gateway, via, encapsulation;
};

static const struct next_hop_types route_types = {RTA_OIF, RTA_GATEWAY, RTA_VIA, RTA_ENCAP_TYPE};
static const struct next_hop_types nexthop_types = {NHA_OIF, NHA_GATEWAY, 0, NHA_ENCAP_TYPE};

static const char *end_of(const struct nlmsghdr *message)
{
	return (const char *)message + message->nlmsg_len;
}

/* Returns the fixed header of `size` bytes, or NULL if the message is of another type or too short. */
static const void *header(const struct nlmsghdr *message, uint16_t type, size_t size)
{
	if (message->nlmsg_type != type || message->nlmsg_len < NLMSG_HDRLEN + size)
		return NULL;
	return mnl_nlmsg_get_payload(message);
}

static uint32_t get_u32(const struct nlattr *attribute)
{
	return mnl_attr_get_payload_len(attribute) >= sizeof(uint32_t) ? mnl_attr_get_u32(attribute) : 0;
}

static bool set_address(struct neighbour_key *key, int family, const void *address, size_t size)
{
	if (size != (family == AF_INET ? 4 : family == AF_INET6 ? 16 : 0))
		return false;
	key->family = (uint32_t)family;
	memset(key->address, 0, sizeof(key->address));
	memcpy(key->address, address, size);
	return true;
}

/* RTA_VIA: the address family of the next hop, then its address. */
static bool set_via(struct neighbour_key *key, const struct nlattr *attribute)
{
	size_t size = mnl_attr_get_payload_len(attribute);
	const char *payload = mnl_attr_get_payload(attribute);
	uint16_t family;

	if (size < sizeof(family))
		return false;
	memcpy(&family, payload, sizeof(family));
	return set_address(key, family, payload + sizeof(family), size - sizeof(family));
}

/* family: of a plain gateway address. */
static void take_attribute(
	struct route_next_hop *next_hop, const struct next_hop_types *types, int family, const struct nlattr *attribute)
{
	uint16_t type = mnl_attr_get_type(attribute);

	if (type == types->interface)
		next_hop->key.interface = get_u32(attribute);
	else if (type == types->gateway)
		next_hop->unusable |= !set_address(
			&next_hop->key, family, mnl_attr_get_payload(attribute), mnl_attr_get_payload_len(attribute));
	else if (types->via && type == types->via)
		next_hop->unusable |= !set_via(&next_hop->key, attribute);
	else if (type == types->encapsulation)
		next_hop->unusable = true;
}

/* Reads RTA_MULTIPATH: struct rtnexthop, each followed by its attributes. */
static void take_multipath(struct route *route, int family, const struct nlattr *multipath)
{
	const char *at = mnl_attr_get_payload(multipath);
	size_t left = mnl_attr_get_payload_len(multipath);

	while (left >= sizeof(struct rtnexthop) && route->count < RTNETLINK_MAX_NEXT_HOPS) {
		struct rtnexthop head;
		struct route_next_hop *next_hop = &route->next_hops[route->count];
		const struct nlattr *attribute;
		size_t size;

		memcpy(&head, at, sizeof(head));
		if (head.rtnh_len < sizeof(head) || head.rtnh_len > left)
			return;
		*next_hop = (struct route_next_hop){
			.key.interface = (uint32_t)head.rtnh_ifindex,
			.weight = head.rtnh_hops + 1u,
			.down = head.rtnh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN),
		};
		EACH (attribute, at + sizeof(head), at + head.rtnh_len)
			take_attribute(next_hop, &route_types, family, attribute);
		route->count++;
		size = RTNH_ALIGN(head.rtnh_len);
		if (size >= left)
			return;
		at += size;
		left -= size;
	}
}

static void take_metrics(struct route *route, const struct nlattr *metrics)
{
	const struct nlattr *attribute;

	EACH (attribute, mnl_attr_get_payload(metrics), (const char *)metrics + metrics->nla_len) {
		if (mnl_attr_get_type(attribute) == RTAX_MTU)
			route->mtu = get_u32(attribute);
		else if (mnl_attr_get_type(attribute) == RTAX_ADVMSS)
			route->advmss = get_u32(attribute);
	}
}

bool rtnetlink_read_route(const struct nlmsghdr *message, struct route *result)
{
	const struct rtmsg *head = header(message, RTM_NEWROUTE, sizeof(*head));
	struct route_next_hop only = {.weight = 1};
	const struct nlattr *attribute;

	if (!head || (head->rtm_family != AF_INET && head->rtm_family != AF_INET6))
		return false;
	result->type = head->rtm_type;
	result->cloned = head->rtm_flags & RTM_F_CLONED;
	result->main = head->rtm_table == RT_TABLE_MAIN;
	result->destination =
		(struct netprefix){{.family = head->rtm_family == AF_INET ? NETADDR_V4 : NETADDR_V6}, head->rtm_dst_len};
	result->object = result->mtu = result->advmss = 0;
	result->count = 0;
	only.down = head->rtm_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN);
	EACH (attribute, (const char *)head + NLMSG_ALIGN(sizeof(*head)), end_of(message)) {
		struct netaddr *addr = &result->destination.addr;
		uint16_t type = mnl_attr_get_type(attribute);

		if (type == RTA_DST && mnl_attr_get_payload_len(attribute) == netaddr_size(addr))
			memcpy(addr->bytes, mnl_attr_get_payload(attribute), netaddr_size(addr));
		else if (type == RTA_METRICS)
			take_metrics(result, attribute);
		else if (type == RTA_MULTIPATH)
			take_multipath(result, head->rtm_family, attribute);
		else if (type == RTA_NH_ID)
			result->object = get_u32(attribute);
		else
			take_attribute(&only, &route_types, head->rtm_family, attribute);
	}
	if (!result->count && only.key.interface)
		result->next_hops[result->count++] = only;
	return true;
}

/* Reads NHA_GROUP: of each member the id in 4 bytes, the weight - 1 in 2 (low byte first; one before Linux 6.12), and 2
 * unused. */
static void take_group(struct nexthop_object *object, const struct nlattr *attribute)
{
	const uint8_t *at = mnl_attr_get_payload(attribute);
	size_t left = mnl_attr_get_payload_len(attribute);

	for (; left >= sizeof(struct nexthop_grp) && object->count < RTNETLINK_MAX_NEXT_HOPS;
		left -= sizeof(struct nexthop_grp), at += sizeof(struct nexthop_grp)) {
		memcpy(&object->members[object->count].id, at, sizeof(uint32_t));
		object->members[object->count].weight = (at[4] | (uint32_t)at[5] << 8) + 1;
		object->count++;
	}
}

bool rtnetlink_read_nexthop(const struct nlmsghdr *message, struct nexthop_object *result)
{
	const struct nhmsg *head = header(message, RTM_NEWNEXTHOP, sizeof(*head));
	const struct nlattr *attribute;

	if (!head)
		return false;
	result->blackhole = false;
	result->count = 0;
	result->next_hop = (struct route_next_hop){
		.weight = 1,
		.down = head->nh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN),
	};
	EACH (attribute, (const char *)head + NLMSG_ALIGN(sizeof(*head)), end_of(message)) {
		if (mnl_attr_get_type(attribute) == NHA_BLACKHOLE)
			result->blackhole = true;
		else if (mnl_attr_get_type(attribute) == NHA_GROUP)
			take_group(result, attribute);
		else
			take_attribute(&result->next_hop, &nexthop_types, head->nh_family, attribute);
	}
	result->valid = result->next_hop.key.interface && !result->blackhole && !result->count;
	return true;
}

bool rtnetlink_read_neighbour(const struct nlmsghdr *message, struct neighbour_entry *result)
{
	const struct ndmsg *head =
		header(message, message->nlmsg_type == RTM_DELNEIGH ? RTM_DELNEIGH : RTM_NEWNEIGH, sizeof(*head));
	const struct nlattr *attribute;

	if (!head || head->ndm_flags & NTF_PROXY)
		return false;
	*result = (struct neighbour_entry){.key.interface = (uint32_t)head->ndm_ifindex, .state = head->ndm_state};
	EACH (attribute, (const char *)head + NLMSG_ALIGN(sizeof(*head)), end_of(message)) {
		if (mnl_attr_get_type(attribute) == NDA_DST)
			set_address(&result->key, head->ndm_family, mnl_attr_get_payload(attribute),
				mnl_attr_get_payload_len(attribute));
		else if (mnl_attr_get_type(attribute) == NDA_LLADDR && mnl_attr_get_payload_len(attribute) == MAC_SIZE)
			memcpy(&result->mac, mnl_attr_get_payload(attribute), MAC_SIZE);
	}
	if (((const uint8_t *)&result->mac)[0] & 1) /* RFC 1812, 3.3.2: no unicast packet goes to such a MAC */
		result->mac = 0;
	return result->key.interface && result->key.family;
}

static void copy_text(char *to, size_t size, const struct nlattr *attribute)
{
	int length = mnl_attr_get_payload_len(attribute);

	snprintf(to, size, "%.*s", length, (const char *)mnl_attr_get_payload(attribute));
}

static void take_kind(struct net_link *link, const struct nlattr *info)
{
	const struct nlattr *attribute;

	EACH (attribute, mnl_attr_get_payload(info), (const char *)info + info->nla_len)
		if (mnl_attr_get_type(attribute) == IFLA_INFO_KIND)
			copy_text(link->kind, sizeof(link->kind), attribute);
}

static void take_link_attribute(struct net_link *link, const struct nlattr *attribute)
{
	switch (mnl_attr_get_type(attribute)) {
	case IFLA_IFNAME:
		copy_text(link->name, sizeof(link->name), attribute);
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(attribute) == sizeof(link->mac))
			memcpy(link->mac, mnl_attr_get_payload(attribute), sizeof(link->mac));
		break;
	case IFLA_MTU:
		link->mtu = get_u32(attribute);
		break;
	case IFLA_MASTER:
		link->master = get_u32(attribute);
		break;
	case IFLA_LINK:
		link->lower = get_u32(attribute);
		break;
	case IFLA_LINKINFO:
		take_kind(link, attribute);
		break;
	}
}

bool rtnetlink_read_link(const struct nlmsghdr *message, struct net_link *result)
{
	const struct ifinfomsg *head = header(message, RTM_NEWLINK, sizeof(*head));
	const struct nlattr *attribute;
	bool foreign = false;

	if (!head)
		return false;
	*result = (struct net_link){.index = (uint32_t)head->ifi_index, .flags = head->ifi_flags, .type = head->ifi_type};
	EACH (attribute, (const char *)head + NLMSG_ALIGN(sizeof(*head)), end_of(message)) {
		take_link_attribute(result, attribute);
		foreign |= mnl_attr_get_type(attribute) == IFLA_LINK_NETNSID;
	}
	if (foreign) /* the lower interface is in another namespace, where its index has another meaning */
		result->lower = 0;
	return true;
}
