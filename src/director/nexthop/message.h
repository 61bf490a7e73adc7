/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads messages of rtnetlink: routes, nexthop objects, neighbour entries and links. Every length is checked, so a
 * message may be any bytes whose size is nlmsg_len. Pure, thread-safe. Addresses in network order.
 */
#ifndef GLB_DIRECTOR_NEXTHOP_MESSAGE_H
#define GLB_DIRECTOR_NEXTHOP_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/rtnetlink.h>
#include <net/if.h>

#define MESSAGE_MAX_NEXT_HOPS 128 /* of a route; those after it are not used */

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
	uint32_t object; /* id of the nexthop object that the route uses; 0: none */
	uint32_t count;
	struct route_next_hop next_hops[MESSAGE_MAX_NEXT_HOPS];
};

struct nexthop_object {
	bool blackhole;
	bool valid; /* `next_hop` is set; false: it is a group or a blackhole */
	struct route_next_hop next_hop; /* its weight is 1 */
	uint32_t count; /* of the group's members */
	struct {
		uint32_t id, weight;
	} members[MESSAGE_MAX_NEXT_HOPS];
};

struct neighbour_entry {
	struct neighbour_key key;
	uint16_t state; /* NUD_* */
	uint64_t mac; /* the first byte is the lowest; 0: the entry has no unicast Ethernet address */
};

struct link_message {
	uint32_t index, master; /* interface index; 0: it has no master */
	bool is_vrf;
	bool without_arp;
};

/* Each returns false if the message is of another type, family or address family, or is damaged; then *result is
 * undefined. */
bool message_read_route(const struct nlmsghdr *message, struct route *result);
bool message_read_nexthop(const struct nlmsghdr *message, struct nexthop_object *result);
bool message_read_neighbour(const struct nlmsghdr *message, struct neighbour_entry *result); /* also of RTM_DELNEIGH */
bool message_read_link(const struct nlmsghdr *message, struct link_message *result);

#endif
