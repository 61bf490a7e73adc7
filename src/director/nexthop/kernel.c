/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/nexthop/kernel.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DISCARD_PORT  9 /* RFC 863 */
#define REPLY_SIZE    32768 /* more than a route with MESSAGE_MAX_NEXT_HOPS next hops has */
#define EVENTS_SIZE   (4 << 20) /* bytes of events that may wait */
#define REPLY_TIMEOUT ((struct timeval){.tv_sec = 1})

static struct nlmsghdr *begin(char *buf, uint16_t type, uint16_t flags, size_t header_size, void **header)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buf);

	*header = mnl_nlmsg_put_extra_header(message, header_size);
	message->nlmsg_type = type;
	message->nlmsg_flags = NLM_F_REQUEST | flags;
	return message;
}

/* Finds the reply to our request in what was received. Earlier replies, which came too late, are skipped. */
static const struct nlmsghdr *find_reply(const char *buf, ssize_t size, uint32_t sequence)
{
	const struct nlmsghdr *message = (const void *)buf;
	int left = (int)size;

	for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left))
		if (message->nlmsg_seq == sequence)
			return message;
	return NULL;
}

/* Returns 0 and the reply in buf, at *reply. Or returns -errno. A request without NLM_F_DUMP has exactly one reply. */
static int request(struct kernel *kernel, struct nlmsghdr *message, char buf[REPLY_SIZE], const struct nlmsghdr **reply)
{
	ssize_t size;

	message->nlmsg_seq = ++kernel->sequence;
	if (mnl_socket_sendto(kernel->socket, message, message->nlmsg_len) < 0)
		return -errno;
	do {
		size = mnl_socket_recvfrom(kernel->socket, buf, REPLY_SIZE);
		if (size < 0 && errno != EINTR)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		*reply = size < 0 ? NULL : find_reply(buf, size, kernel->sequence);
	} while (!*reply);
	if ((*reply)->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *error = mnl_nlmsg_get_payload(*reply);

		return mnl_nlmsg_get_payload_len(*reply) < sizeof(error->error) ? -EBADMSG : error->error;
	}
	return 0;
}

static int ask_route(struct kernel *kernel, uint32_t source, uint32_t destination, uint32_t interface, struct route *route)
{
	char buf[256] = {0}, replies[REPLY_SIZE];
	const struct nlmsghdr *reply;
	struct rtmsg *head;
	struct nlmsghdr *message = begin(buf, RTM_GETROUTE, 0, sizeof(*head), (void **)&head);
	int error;

	head->rtm_family = AF_INET;
	head->rtm_dst_len = 32;
	head->rtm_flags = RTM_F_FIB_MATCH;
	mnl_attr_put_u32(message, RTA_DST, destination);
	if (source) {
		head->rtm_src_len = 32;
		mnl_attr_put_u32(message, RTA_SRC, source);
	}
	if (interface)
		mnl_attr_put_u32(message, RTA_OIF, interface);
	error = request(kernel, message, replies, &reply);
	return error ? error : message_read_route(reply, route) ? 0 : -EBADMSG;
}

static int ask_object(struct kernel *kernel, uint32_t id, struct nexthop_object *object)
{
	char buf[256] = {0}, replies[REPLY_SIZE];
	const struct nlmsghdr *reply;
	struct nhmsg *head;
	struct nlmsghdr *message = begin(buf, RTM_GETNEXTHOP, 0, sizeof(*head), (void **)&head);
	int error;

	mnl_attr_put_u32(message, NHA_ID, id);
	error = request(kernel, message, replies, &reply);
	return error ? error : message_read_nexthop(reply, object) ? 0 : -EBADMSG;
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
static int follow_object(struct kernel *kernel, struct route *route)
{
	struct nexthop_object group, member;
	int error;

	error = ask_object(kernel, route->object, &group);
	if (error)
		return error;
	if (group.blackhole)
		route->type = RTN_BLACKHOLE;
	add_object(route, &group, 1);
	for (uint32_t i = 0; i < group.count; i++)
		if (ask_object(kernel, group.members[i].id, &member) == 0)
			add_object(route, &member, group.members[i].weight);
	return 0;
}

static bool is_own_address(struct kernel *kernel, uint32_t address, struct route *route)
{
	return ask_route(kernel, 0, address, 0, route) == 0 && route->type == RTN_LOCAL;
}

int kernel_route(struct kernel *kernel, uint32_t source, uint32_t destination, uint32_t interface, struct route *route)
{
	int error = ask_route(kernel, source, destination, interface, route);

	/*
	 * Either error may mean that the source is not an address of this host. It need not be one. If it is, the error
	 * comes from a route, and another lookup could ignore the rule that led to this route.
	 */
	if ((error == -EINVAL || error == -ENETUNREACH) && source && !is_own_address(kernel, source, route))
		error = ask_route(kernel, 0, destination, interface, route);
	if (!error && !route->count && route->object)
		error = follow_object(kernel, route);
	route->object = 0;
	return error;
}

static struct nlmsghdr *put_neighbour(
	char buf[256], uint16_t type, uint16_t flags, uint8_t neighbour_flags, const struct neighbour_key *key)
{
	struct ndmsg *head;
	struct nlmsghdr *message = begin(buf, type, flags, sizeof(*head), (void **)&head);

	head->ndm_family = (uint8_t)key->family;
	head->ndm_ifindex = (int)key->interface;
	head->ndm_flags = neighbour_flags;
	mnl_attr_put(message, NDA_DST, key->family == AF_INET ? 4 : 16, key->address);
	return message;
}

int kernel_neighbour(struct kernel *kernel, const struct neighbour_key *key, struct neighbour_entry *entry)
{
	char buf[256] = {0}, replies[REPLY_SIZE];
	const struct nlmsghdr *reply;
	int error = request(kernel, put_neighbour(buf, RTM_GETNEIGH, 0, 0, key), replies, &reply);

	return error ? error : message_read_neighbour(reply, entry) ? 0 : -EBADMSG;
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

void kernel_probe(struct kernel *kernel, const struct neighbour_key *key)
{
	char buf[256] = {0}, replies[REPLY_SIZE];
	const struct nlmsghdr *reply;
	uint16_t flags = NLM_F_CREATE | NLM_F_REPLACE | NLM_F_ACK;

	if (request(kernel, put_neighbour(buf, RTM_NEWNEIGH, flags, NTF_USE, key), replies, &reply) == -EPERM)
		send_datagram(key); /* CAP_NET_ADMIN is missing */
}

int kernel_link(struct kernel *kernel, uint32_t interface, struct link_message *link)
{
	char buf[256] = {0}, replies[REPLY_SIZE];
	const struct nlmsghdr *reply;
	struct ifinfomsg *head;
	struct nlmsghdr *message = begin(buf, RTM_GETLINK, 0, sizeof(*head), (void **)&head);
	int error;

	head->ifi_index = (int)interface;
	error = request(kernel, message, replies, &reply);
	return error ? error : message_read_link(reply, link) ? 0 : -EBADMSG;
}

bool kernel_error_is_temporary(int error)
{
	return error == -ETIMEDOUT || error == -ENOBUFS || error == -ENOMEM || error == -ENOSPC || error == -EBADMSG;
}

int kernel_open(struct kernel *kernel)
{
	struct timeval timeout = REPLY_TIMEOUT;

	*kernel = (struct kernel){.socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC)};
	if (!kernel->socket || mnl_socket_bind(kernel->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	setsockopt(mnl_socket_get_fd(kernel->socket), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	return 0;
}

void kernel_close(struct kernel *kernel)
{
	if (kernel->socket)
		mnl_socket_close(kernel->socket);
	kernel->socket = NULL;
}

struct mnl_socket *kernel_open_events(void)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int size = EVENTS_SIZE, nexthops = RTNLGRP_NEXTHOP, error;

	if (!socket)
		return NULL;
	if (mnl_socket_bind(socket,
		    RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE | RTMGRP_IPV4_IFADDR | 1u << (RTNLGRP_IPV4_RULE - 1),
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
