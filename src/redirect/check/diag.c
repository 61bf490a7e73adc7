/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/check/diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>

#include "redirect/host/netlink.h"

struct reading {
	struct diag_sockets *sockets;
	uint8_t protocol;
};

static int add_socket(const struct nlmsghdr *message, void *data)
{
	const struct inet_diag_msg *info = mnl_nlmsg_get_payload(message);
	const struct reading *reading = data;
	struct diag_sockets *sockets = reading->sockets;
	struct diag_socket *items;

	if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY || mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return MNL_CB_OK;
	items = realloc(sockets->items, (sockets->count + 1) * sizeof(*items));
	if (!items) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	sockets->items = items;
	sockets->items[sockets->count++] = (struct diag_socket){
		.protocol = reading->protocol,
		.connected = info->idiag_state == TCP_ESTABLISHED,
		.address =
			netaddr_from_bytes(info->idiag_family == AF_INET ? NETADDR_V4 : NETADDR_V6, info->id.idiag_src),
		.port = ntohs(info->id.idiag_sport),
		.link = info->id.idiag_if,
		.waiting = info->idiag_rqueue,
		.backlog = info->idiag_wqueue,
	};
	return MNL_CB_OK;
}

static int read_kind(uint8_t family, uint8_t protocol, struct diag_sockets *sockets)
{
	struct reading reading = {.sockets = sockets, .protocol = protocol};
	char buf[NETLINK_REQUEST_MAX] = {0};
	struct inet_diag_req_v2 *header;
	struct nlmsghdr *message = netlink_begin(buf, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*header), (void **)&header);

	header->sdiag_family = family;
	header->sdiag_protocol = protocol;
	header->idiag_states = protocol == IPPROTO_TCP ? 1u << TCP_LISTEN : UINT32_MAX;
	return netlink_request(NETLINK_INET_DIAG, message, add_socket, &reading);
}

int diag_read(struct diag_sockets *sockets)
{
	static const uint8_t families[] = {AF_INET, AF_INET6}, protocols[] = {IPPROTO_TCP, IPPROTO_UDP};
	int error = 0;

	*sockets = (struct diag_sockets){0};
	for (int i = 0; i < 4 && !error; i++)
		error = read_kind(families[i / 2], protocols[i % 2], sockets);
	return error;
}

void diag_free(struct diag_sockets *sockets)
{
	free(sockets->items);
	*sockets = (struct diag_sockets){0};
}
