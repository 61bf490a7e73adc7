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

/* States in which the kernel would use the address. */
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
	struct neighbour_hop *hop = context;
	const struct nlattr *attribute;

	if (route->rtm_type != RTN_UNICAST)
		return MNL_CB_STOP; /* local, blackhole ... */
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
	return MNL_CB_STOP; /* one message answers it, without an end */
}

int neighbour_route(struct mnl_socket *socket, uint32_t source, uint32_t destination, struct neighbour_hop *hop)
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
	*hop = (struct neighbour_hop){.address = destination};
	error = request(socket, message, take_route, hop);
	/* Either may say that the kernel has no such address, which it need not have. */
	if ((error == -EINVAL || error == -ENETUNREACH) && source)
		return neighbour_route(socket, 0, destination, hop);
	if (error)
		return error;
	return hop->interface && hop->address ? 0 : -EHOSTUNREACH;
}

struct answer {
	const struct neighbour_hop *hop;
	uint64_t mac;
};

static int take_neighbour(const struct nlmsghdr *message, void *context)
{
	struct answer *answer = context;

	neighbour_event(message, answer->hop, &answer->mac);
	return MNL_CB_STOP;
}

static struct nlmsghdr *put_neighbour(char *buf, uint16_t type, uint8_t flags, const struct neighbour_hop *hop)
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

int neighbour_find(struct mnl_socket *socket, const struct neighbour_hop *hop, uint64_t *mac)
{
	char buf[256];
	struct answer answer = {.hop = hop};
	int error = request(socket, put_neighbour(buf, RTM_GETNEIGH, 0, hop), take_neighbour, &answer);

	*mac = answer.mac;
	return error ? error : answer.mac ? 0 : -EHOSTUNREACH;
}

/* Any packet makes the kernel look for the neighbour. */
static void send_datagram(const struct neighbour_hop *hop)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(DISCARD_PORT),
		.sin_addr.s_addr = hop->address,
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	(void)!sendto(fd, "", 0, 0, (const struct sockaddr *)&to, sizeof(to)); /* asked again later */
	close(fd);
}

void neighbour_ask(struct mnl_socket *socket, const struct neighbour_hop *hop)
{
	char buf[256];
	struct nlmsghdr *message = put_neighbour(buf, RTM_NEWNEIGH, NTF_USE, hop);

	message->nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE | NLM_F_ACK;
	if (request(socket, message, NULL, NULL) < 0) /* without CAP_NET_ADMIN */
		send_datagram(hop);
}

bool neighbour_event(const struct nlmsghdr *message, const struct neighbour_hop *hop, uint64_t *mac)
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
	if (!same || neighbour->ndm_state & NUD_INCOMPLETE) /* still being asked for */
		return false;
	*mac = message->nlmsg_type == RTM_NEWNEIGH && neighbour->ndm_state & USABLE ? found : 0;
	return true;
}
