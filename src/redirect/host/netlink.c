/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/netlink.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>

#define REPLY_SIZE 65536 /* bytes; the kernel sends at most 32 KB at once */
#define ATTEMPTS   3 /* of a dump that other processes change meanwhile */
#define TIMEOUT_S  2

struct nlmsghdr *netlink_begin(
	char buf[NETLINK_REQUEST_MAX], uint16_t type, uint16_t flags, size_t header_size, void **header)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buf);

	message->nlmsg_type = type;
	message->nlmsg_flags = NLM_F_REQUEST | flags | (flags & NLM_F_DUMP ? 0 : NLM_F_ACK);
	message->nlmsg_seq = 1;
	*header = mnl_nlmsg_put_extra_header(message, header_size);
	return message;
}

/* Returns 0 or -errno; -EINTR: the dump is inconsistent. */
static int exchange(struct mnl_socket *socket, struct nlmsghdr *message, mnl_cb_t each, void *data)
{
	struct timeval timeout = {.tv_sec = TIMEOUT_S};
	static char reply[REPLY_SIZE];
	int result = MNL_CB_OK, strict = (message->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;

	setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	/* With this, the kernel obeys a filter in the header of a dump. */
	if (strict)
		mnl_socket_setsockopt(socket, NETLINK_GET_STRICT_CHK, &strict, sizeof(strict));
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
		mnl_socket_sendto(socket, message, message->nlmsg_len) < 0)
		return -errno;
	while (result == MNL_CB_OK) {
		ssize_t size = mnl_socket_recvfrom(socket, reply, sizeof(reply));

		if (size < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		result = mnl_cb_run(reply, (size_t)size, message->nlmsg_seq, mnl_socket_get_portid(socket), each, data);
	}
	return result < 0 ? -errno : 0;
}

int netlink_request(int bus, struct nlmsghdr *message, mnl_cb_t each, void *data)
{
	int error = -EINTR;

	for (int i = 0; i < ATTEMPTS && error == -EINTR; i++) {
		struct mnl_socket *socket = mnl_socket_open2(bus, SOCK_CLOEXEC);

		if (!socket)
			return -errno;
		error = exchange(socket, message, each, data);
		mnl_socket_close(socket);
	}
	return error;
}
