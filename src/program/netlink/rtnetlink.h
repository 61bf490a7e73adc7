/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads messages of rtnetlink: routes, nexthop objects, neighbour entries and links. Every length is checked, so a
 * message may be any bytes whose size is nlmsg_len. Pure, thread-safe. Addresses in network order.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <linux/rtnetlink.h>
#include <net/if.h>

#include "common/netaddr.h"

#define RTNETLINK_MAX_NEXT_HOPS 128 /* of a route; those after it are not used */

/* Where a next hop is. Compared as bytes, so unused bytes are 0. */
struct neighbour_key {
	uint32_t interface; /* index */
	uint32_t family; /* AF_INET or AF_INET6; AF_UNSPEC: the destination itself, because it is on the link */
	uint8_t address[16];
};

struct route_next_hop {
	struct neighbour_key key;
	uint32_t weight; /* from 1 to 65536 */
	bool down; /* the kernel does not use it now: it is dead, or its link is down */
	bool unusable; /* its address is damaged, or it needs an encapsulation that the director does not make */
};

struct route {
	uint8_t type; /* RTN_UNICAST, RTN_BLACKHOLE ... */
	bool cloned; /* the kernel made it for one destination */
	bool main; /* it is in the main table; others are for rules, VRFs */
	struct netprefix destination;
	uint32_t mtu, advmss; /* bytes; 0: not set */
	uint32_t object; /* id of the nexthop object that the route uses; 0: none */
	uint32_t count;
	struct route_next_hop next_hops[RTNETLINK_MAX_NEXT_HOPS];
};

struct nexthop_object {
	bool blackhole;
	bool valid; /* `next_hop` is set; false: it is a group or a blackhole */
	struct route_next_hop next_hop; /* its weight is 1 */
	uint32_t count; /* of the group's members */
	struct {
		uint32_t id, weight;
	} members[RTNETLINK_MAX_NEXT_HOPS];
};

struct neighbour_entry {
	struct neighbour_key key;
	uint16_t state; /* NUD_* */
	uint64_t mac; /* the first byte is the lowest; 0: the entry has no unicast Ethernet address */
};

struct net_link {
	uint32_t index;
	uint32_t master; /* index of the bridge, bond or VRF to which it belongs; 0: none */
	/* Index of the interface on which it is based, such as that of a VLAN; 0: none in this namespace */
	uint32_t lower;
	uint32_t flags; /* IFF_* */
	uint32_t mtu; /* bytes */
	uint16_t type; /* ARPHRD_* */
	uint8_t mac[6]; /* zeros: none */
	char name[IF_NAMESIZE];
	char kind[16]; /* "vlan", "veth", "vrf"; "": a card */
};

/* Each returns false if the message is of another type, family or address family, or is damaged; then *result is
 * undefined. */
bool rtnetlink_read_route(const struct nlmsghdr *message, struct route *result);
bool rtnetlink_read_nexthop(const struct nlmsghdr *message, struct nexthop_object *result);
/* Also of RTM_DELNEIGH. */
bool rtnetlink_read_neighbour(const struct nlmsghdr *message, struct neighbour_entry *result);
bool rtnetlink_read_link(const struct nlmsghdr *message, struct net_link *result);
