/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/netlink/netlink.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define ATTEMPTS  3 /* of a dump that other processes change meanwhile */
#define TIMEOUT_S 1

int netlink_open(struct netlink *netlink, int bus)
{
	struct timeval timeout = {.tv_sec = TIMEOUT_S};

	*netlink = (struct netlink){.socket = mnl_socket_open2(bus, SOCK_CLOEXEC)};
	if (!netlink->socket || mnl_socket_bind(netlink->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	setsockopt(mnl_socket_get_fd(netlink->socket), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	return 0;
}

void netlink_close(struct netlink *netlink)
{
	if (netlink->socket)
		mnl_socket_close(netlink->socket);
	netlink->socket = NULL;
}

struct nlmsghdr *netlink_begin(char buf[NETLINK_MAX], uint16_t type, uint16_t flags, size_t header_size, void **header)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buf);

	message->nlmsg_type = type;
	/* NLM_F_REPLACE and NLM_F_EXCL of a change are bits of NLM_F_DUMP. */
	message->nlmsg_flags = NLM_F_REQUEST | flags | ((flags & NLM_F_DUMP) == NLM_F_DUMP ? 0 : NLM_F_ACK);
	*header = mnl_nlmsg_put_extra_header(message, header_size);
	return message;
}

/* Returns 0 or -errno; -EINTR: the dump is inconsistent. */
static int exchange(struct netlink *netlink, struct nlmsghdr *message, mnl_cb_t each, void *data)
{
	unsigned port = mnl_socket_get_portid(netlink->socket);
	char reply[NETLINK_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *first = (const void *)reply;
	int result = MNL_CB_OK;

	message->nlmsg_seq = ++netlink->sequence;
	if (mnl_socket_sendto(netlink->socket, message, message->nlmsg_len) < 0)
		return -errno;
	while (result == MNL_CB_OK) {
		ssize_t size = mnl_socket_recvfrom(netlink->socket, reply, sizeof(reply));

		if (size < 0 && errno != EINTR)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		/* Replies to earlier requests, which came too late, are skipped. */
		if (size >= (ssize_t)sizeof(*first) && first->nlmsg_seq == netlink->sequence)
			result = mnl_cb_run(reply, (size_t)size, netlink->sequence, port, each, data);
	}
	return result < 0 ? -errno : 0;
}

static int keep(const struct nlmsghdr *message, void *data)
{
	memcpy(data, message, message->nlmsg_len);
	return MNL_CB_OK;
}

int netlink_get(struct netlink *netlink, struct nlmsghdr *message)
{
	return exchange(netlink, message, keep, message);
}

int netlink_dump(int bus, struct nlmsghdr *message, mnl_cb_t each, void *data)
{
	int error = -EINTR, strict = 1;

	for (int i = 0; i < ATTEMPTS && error == -EINTR; i++) {
		struct netlink netlink;

		error = netlink_open(&netlink, bus);
		if (!error) {
			/* With this, the kernel obeys a filter in the header of a dump. */
			mnl_socket_setsockopt(netlink.socket, NETLINK_GET_STRICT_CHK, &strict, sizeof(strict));
			error = exchange(&netlink, message, each, data);
		}
		netlink_close(&netlink);
	}
	return error;
}
