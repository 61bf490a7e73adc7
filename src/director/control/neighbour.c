/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/neighbour.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAC_SIZE     6
#define DISCARD_PORT 9 /* RFC 863 */

/* States of a neighbour entry in which the kernel uses its MAC. */
#define USABLE (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP)

static int request(struct mnl_socket *socket, struct nlmsghdr *message, mnl_cb_t take, void *context)
{
	char buf[8192]; /* MNL_SOCKET_BUFFER_SIZE is not a constant */
	unsigned port = mnl_socket_get_portid(socket);
	ssize_t size;
	int more;

	message->nlmsg_flags |= NLM_F_REQUEST;
	message->nlmsg_seq = (unsigned)time(NULL);
	if (mnl_socket_sendto(socket, message, message->nlmsg_len) < 0)
		return -errno;
	do {
		size = mnl_socket_recvfrom(socket, buf, sizeof(buf));
		if (size < 0)
			return -errno;
		more = mnl_cb_run(buf, (size_t)size, message->nlmsg_seq, port, take, context);
		if (more < 0)
			return -errno;
	} while (more > MNL_CB_STOP);
	return 0;
}

static int take_route(const struct nlmsghdr *message, void *context)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	struct next_hop *hop = context;
	const struct nlattr *attribute;

	if (route->rtm_type != RTN_UNICAST)
		return MNL_CB_STOP; /* for example local or blackhole */
	mnl_attr_for_each(attribute, message, sizeof(*route))
	{
		switch (mnl_attr_get_type(attribute)) {
		case RTA_GATEWAY:
			hop->address = mnl_attr_get_u32(attribute);
			break;
		case RTA_OIF:
			hop->interface = mnl_attr_get_u32(attribute);
			break;
		case RTA_VIA: /* a router with an IPv6 address */
			hop->address = 0;
			break;
		}
	}
	return MNL_CB_STOP; /* the reply is a single message without an end marker */
}

int neighbour_route(struct mnl_socket *socket, uint32_t source, uint32_t destination, struct next_hop *hop)
{
	char buf[256];
	struct nlmsghdr *message = mnl_nlmsg_put_header(buf);
	struct rtmsg *route = mnl_nlmsg_put_extra_header(message, sizeof(*route));
	int error;

	message->nlmsg_type = RTM_GETROUTE;
	route->rtm_family = AF_INET;
	route->rtm_dst_len = 32;
	mnl_attr_put_u32(message, RTA_DST, destination);
	if (source) {
		route->rtm_src_len = 32;
		mnl_attr_put_u32(message, RTA_SRC, source);
	}
	*hop = (struct next_hop){.address = destination};
	error = request(socket, message, take_route, hop);
	/* Either error may mean that the source is not an address of this host. It need not be one. */
	if ((error == -EINVAL || error == -ENETUNREACH) && source)
		return neighbour_route(socket, 0, destination, hop);
	if (error)
		return error;
	return hop->interface && hop->address ? 0 : -EHOSTUNREACH;
}

struct lookup {
	const struct next_hop *hop;
	uint64_t mac;
};

static int take_neighbour(const struct nlmsghdr *message, void *context)
{
	struct lookup *lookup = context;

	neighbour_event(message, lookup->hop, &lookup->mac);
	return MNL_CB_STOP;
}

static struct nlmsghdr *put_neighbour(char *buf, uint16_t type, uint8_t flags, const struct next_hop *hop)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buf);
	struct ndmsg *neighbour = mnl_nlmsg_put_extra_header(message, sizeof(*neighbour));

	message->nlmsg_type = type;
	neighbour->ndm_family = AF_INET;
	neighbour->ndm_ifindex = (int)hop->interface;
	neighbour->ndm_flags = flags;
	mnl_attr_put_u32(message, NDA_DST, hop->address);
	return message;
}

int neighbour_find(struct mnl_socket *socket, const struct next_hop *hop, uint64_t *mac)
{
	char buf[256];
	struct lookup lookup = {.hop = hop};
	int error = request(socket, put_neighbour(buf, RTM_GETNEIGH, 0, hop), take_neighbour, &lookup);

	*mac = lookup.mac;
	return error ? error : lookup.mac ? 0 : -EHOSTUNREACH;
}

/* Sends a datagram to the next hop, because any packet makes the kernel resolve its MAC. */
static void send_datagram(const struct next_hop *hop)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(DISCARD_PORT),
		.sin_addr.s_addr = hop->address,
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	(void)!sendto(fd, "", 0, 0, (const struct sockaddr *)&to, sizeof(to)); /* a later tick tries again */
	close(fd);
}

void neighbour_probe(struct mnl_socket *socket, const struct next_hop *hop)
{
	char buf[256];
	struct nlmsghdr *message = put_neighbour(buf, RTM_NEWNEIGH, NTF_USE, hop);

	message->nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE | NLM_F_ACK;
	if (request(socket, message, NULL, NULL) < 0) /* CAP_NET_ADMIN is missing */
		send_datagram(hop);
}

bool neighbour_event(const struct nlmsghdr *message, const struct next_hop *hop, uint64_t *mac)
{
	const struct ndmsg *neighbour = mnl_nlmsg_get_payload(message);
	const struct nlattr *attribute;
	bool same = false;
	uint64_t found = 0;

	if ((message->nlmsg_type != RTM_NEWNEIGH && message->nlmsg_type != RTM_DELNEIGH) ||
		neighbour->ndm_family != AF_INET || neighbour->ndm_ifindex != (int)hop->interface)
		return false;
	mnl_attr_for_each(attribute, message, sizeof(*neighbour))
	{
		switch (mnl_attr_get_type(attribute)) {
		case NDA_DST:
			same = mnl_attr_get_u32(attribute) == hop->address;
			break;
		case NDA_LLADDR:
			if (mnl_attr_get_payload_len(attribute) == MAC_SIZE)
				memcpy(&found, mnl_attr_get_payload(attribute), MAC_SIZE);
			break;
		}
	}
	if (!same || neighbour->ndm_state & NUD_INCOMPLETE) /* the kernel is still resolving it */
		return false;
	*mac = message->nlmsg_type == RTM_NEWNEIGH && neighbour->ndm_state & USABLE ? found : 0;
	return true;
}
