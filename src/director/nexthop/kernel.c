/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/nexthop/kernel.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DISCARD_PORT 9 /* RFC 863 */
#define EVENTS_SIZE  (4 << 20) /* bytes of events that may wait */

static int ask_route(struct netlink *kernel, const struct netaddr *source, const struct netaddr *destination,
	uint32_t interface, struct route *route)
{
	char buf[NETLINK_MAX];
	struct rtmsg *head;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETROUTE, 0, sizeof(*head), (void **)&head);
	int error;

	head->rtm_family = destination->family == NETADDR_V4 ? AF_INET : AF_INET6;
	head->rtm_dst_len = (uint8_t)netaddr_bits(destination);
	head->rtm_flags = RTM_F_FIB_MATCH;
	mnl_attr_put(message, RTA_DST, netaddr_size(destination), destination->bytes);
	if (source->family) {
		head->rtm_src_len = (uint8_t)netaddr_bits(source);
		mnl_attr_put(message, RTA_SRC, netaddr_size(source), source->bytes);
	}
	if (interface)
		mnl_attr_put_u32(message, RTA_OIF, interface);
	error = netlink_get(kernel, message);
	return error ? error : rtnetlink_read_route(message, route) ? 0 : -EBADMSG;
}

static int ask_object(struct netlink *kernel, uint32_t id, struct nexthop_object *object)
{
	char buf[NETLINK_MAX];
	struct nhmsg *head;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETNEXTHOP, 0, sizeof(*head), (void **)&head);
	int error;

	mnl_attr_put_u32(message, NHA_ID, id);
	error = netlink_get(kernel, message);
	return error ? error : rtnetlink_read_nexthop(message, object) ? 0 : -EBADMSG;
}

static void add_object(struct route *route, const struct nexthop_object *object, uint32_t weight)
{
	if (!object->valid)
		return;
	route->next_hops[route->count] = object->next_hop;
	route->next_hops[route->count].weight = weight;
	route->count++;
}

/* With the sysctl net.ipv4.nexthop_compat_mode = 0 a route only names its nexthop object. */
static int follow_object(struct netlink *kernel, struct route *route)
{
	struct nexthop_object group, member;
	int error;

	error = ask_object(kernel, route->object, &group);
	if (error)
		return error;
	if (group.blackhole)
		route->type = RTN_BLACKHOLE;
	add_object(route, &group, 1);
	for (uint32_t i = 0; i < group.count; i++) {
		error = ask_object(kernel, group.members[i].id, &member);
		if (kernel_error_is_temporary(error))
			return error;
		if (!error)
			add_object(route, &member, group.members[i].weight);
	}
	return 0;
}

static const struct netaddr any;

int kernel_route(struct netlink *kernel, const struct netaddr *source, const struct netaddr *destination,
	uint32_t interface, struct route *route)
{
	int error = ask_route(kernel, source, destination, interface, route), own_error;

	/*
	 * For IPv4, either error may mean that the source is not an address of this host. It need not be one. If it is,
	 * the error comes from a route, and another lookup could ignore the rule that led to this route.
	 */
	if ((error == -EINVAL || error == -ENETUNREACH) && source->family == NETADDR_V4) {
		own_error = ask_route(kernel, &any, source, 0, route);
		if (kernel_error_is_temporary(own_error))
			error = own_error;
		else if (own_error || route->type != RTN_LOCAL)
			error = ask_route(kernel, &any, destination, interface, route);
	}
	if (!error && !route->count && route->object)
		error = follow_object(kernel, route);
	route->object = 0;
	return error;
}

static struct nlmsghdr *put_neighbour(
	char buf[NETLINK_MAX], uint16_t type, uint16_t flags, uint8_t neighbour_flags, const struct neighbour_key *key)
{
	struct ndmsg *head;
	struct nlmsghdr *message = netlink_begin(buf, type, flags, sizeof(*head), (void **)&head);

	head->ndm_family = (uint8_t)key->family;
	head->ndm_ifindex = (int)key->interface;
	head->ndm_flags = neighbour_flags;
	mnl_attr_put(message, NDA_DST, key->family == AF_INET ? 4 : 16, key->address);
	return message;
}

int kernel_neighbour(struct netlink *kernel, const struct neighbour_key *key, struct neighbour_entry *entry)
{
	char buf[NETLINK_MAX];
	struct nlmsghdr *message = put_neighbour(buf, RTM_GETNEIGH, 0, 0, key);
	int error = netlink_get(kernel, message);

	return error ? error : rtnetlink_read_neighbour(message, entry) ? 0 : -EBADMSG;
}

/* Sends a datagram to the neighbour, because any packet makes the kernel resolve its MAC. */
static void send_datagram(const struct neighbour_key *key)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(DISCARD_PORT),
		.sin6_scope_id = key->interface,
	};
	bool is_v4 = key->family == AF_INET;
	char interface[IF_NAMESIZE];
	int fd = socket((int)key->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	memcpy(&v4.sin_addr, key->address, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, key->address, sizeof(v6.sin6_addr));
	if (if_indextoname(key->interface, interface)) /* before Linux 5.7 this needs a capability, too */
		(void)!setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface, (socklen_t)strlen(interface));
	(void)!sendto(fd, "", 0, 0, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6,
		is_v4 ? sizeof(v4) : sizeof(v6)); /* a later probe tries again */
	close(fd);
}

/*
 * Since Linux 5.16, NTF_USE makes a permanent entry one that the kernel resolves, and may lose. An operator may have
 * added one that has not arrived as an event.
 */
void kernel_probe(struct netlink *kernel, const struct neighbour_key *key)
{
	char buf[NETLINK_MAX];
	struct neighbour_entry entry;
	int error = kernel_neighbour(kernel, key, &entry);
	uint16_t flags = NLM_F_CREATE | (error ? NLM_F_EXCL : NLM_F_REPLACE);

	if (error ? error != -ENOENT : entry.state & (NUD_PERMANENT | NUD_NOARP))
		return; /* after another error, a later probe reads it again */
	if (netlink_get(kernel, put_neighbour(buf, RTM_NEWNEIGH, flags, NTF_USE, key)) == -EPERM)
		send_datagram(key); /* CAP_NET_ADMIN is missing */
}

int kernel_link(struct netlink *kernel, uint32_t interface, struct net_link *link)
{
	char buf[NETLINK_MAX];
	struct ifinfomsg *head;
	struct nlmsghdr *message = netlink_begin(buf, RTM_GETLINK, 0, sizeof(*head), (void **)&head);
	int error;

	head->ifi_index = (int)interface;
	error = netlink_get(kernel, message);
	return error ? error : rtnetlink_read_link(message, link) ? 0 : -EBADMSG;
}

bool kernel_error_is_temporary(int error)
{
	return error == -ETIMEDOUT || error == -ENOBUFS || error == -ENOMEM || error == -ENOSPC || error == -EBADMSG;
}

struct mnl_socket *kernel_open_events(void)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int size = EVENTS_SIZE, nexthops = RTNLGRP_NEXTHOP, error;

	if (!socket)
		return NULL;
	if (mnl_socket_bind(socket,
		    RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_ROUTE |
			    RTMGRP_IPV6_IFADDR | 1u << (RTNLGRP_IPV4_RULE - 1) | 1u << (RTNLGRP_IPV6_RULE - 1),
		    MNL_SOCKET_AUTOPID) < 0) {
		error = errno;
		mnl_socket_close(socket);
		errno = error;
		return NULL;
	}
	/* The first needs Linux 5.3. The second needs a capability; without it some more events are lost, and then all
	 * is read again. */
	(void)!mnl_socket_setsockopt(socket, NETLINK_ADD_MEMBERSHIP, &nexthops, sizeof(nexthops));
	if (setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		(void)!setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	return socket;
}
