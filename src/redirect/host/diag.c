/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/diag.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "program/netlink/netlink.h"

struct reading {
	struct diag_sockets *sockets;
	uint8_t protocol;
};

/* Returns the information about a socket, or NULL if the message has none. */
static const struct inet_diag_msg *info_of(const struct nlmsghdr *message)
{
	const struct inet_diag_msg *info = mnl_nlmsg_get_payload(message);

	return message->nlmsg_type == SOCK_DIAG_BY_FAMILY && mnl_nlmsg_get_payload_len(message) >= sizeof(*info) ? info
														 : NULL;
}

static struct netaddr local_address(const struct inet_diag_msg *info)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *bytes = (const uint8_t *)info->id.idiag_src;

	if (info->idiag_family == AF_INET)
		return netaddr_from_bytes(NETADDR_V4, bytes);
	if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
		return netaddr_from_bytes(NETADDR_V4, bytes + sizeof(mapped));
	return netaddr_from_bytes(NETADDR_V6, bytes);
}

static bool is_v6only(const struct nlmsghdr *message)
{
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, message, sizeof(struct inet_diag_msg))
	{
		if (mnl_attr_get_type(attribute) == INET_DIAG_SKV6ONLY)
			return mnl_attr_get_u8(attribute);
	}
	return false;
}

static int add_socket(const struct nlmsghdr *message, void *data)
{
	const struct inet_diag_msg *info = info_of(message);
	const struct reading *reading = data;
	struct diag_sockets *sockets = reading->sockets;
	struct diag_socket *socket;

	if (!info)
		return MNL_CB_OK;
	socket = array_append(&sockets->items, &sockets->count, sizeof(*socket));
	if (!socket)
		return MNL_CB_ERROR;
	*socket = (struct diag_socket){
		.protocol = reading->protocol,
		.connected = info->idiag_state == TCP_ESTABLISHED,
		.address = local_address(info),
		.v6only = is_v6only(message),
		.port = ntohs(info->id.idiag_sport),
		.link = info->id.idiag_if,
		.waiting = info->idiag_rqueue,
		.backlog = info->idiag_wqueue,
	};
	return MNL_CB_OK;
}

/* A kind of sockets. */
struct kind {
	uint8_t protocol;
	uint8_t extensions; /* attributes that the kernel adds, a set of bits */
	uint32_t states; /* a set of bits */
};

static int dump(uint8_t family, const struct kind *kind, mnl_cb_t each, void *data)
{
	char buf[NETLINK_MAX];
	struct inet_diag_req_v2 *header;
	struct nlmsghdr *message = netlink_begin(buf, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*header), (void **)&header);

	header->sdiag_family = family;
	header->sdiag_protocol = kind->protocol;
	header->idiag_ext = kind->extensions;
	header->idiag_states = kind->states;
	return netlink_dump(NETLINK_INET_DIAG, message, each, data);
}

/* Calls `each` for all sockets of the kind. */
static int dump_all(const struct kind *kind, mnl_cb_t each, void *data)
{
	int error = dump(AF_INET, kind, each, data);

	return error ? error : dump(AF_INET6, kind, each, data);
}

int diag_read_listeners(struct diag_sockets *sockets)
{
	const struct kind kind = {.protocol = IPPROTO_TCP, .states = 1u << TCP_LISTEN};
	struct reading reading = {sockets, IPPROTO_TCP};

	*sockets = (struct diag_sockets){0};
	return dump_all(&kind, add_socket, &reading);
}

int diag_read(struct diag_sockets *sockets)
{
	const struct kind kind = {.protocol = IPPROTO_UDP, .states = UINT32_MAX};
	struct reading reading = {sockets, IPPROTO_UDP};
	int error = diag_read_listeners(sockets);

	return error ? error : dump_all(&kind, add_socket, &reading);
}

void diag_free(struct diag_sockets *sockets)
{
	free(sockets->items);
	*sockets = (struct diag_sockets){0};
}

bool diag_is_any(const struct diag_socket *socket)
{
	static const uint8_t zero[sizeof(socket->address.bytes)];

	return memcmp(socket->address.bytes, zero, sizeof(zero)) == 0;
}

bool diag_serves(const struct diag_socket *socket, const struct netprefix *address)
{
	if (!diag_is_any(socket))
		return netprefix_covers(address, &socket->address);
	return socket->address.family == address->addr.family ||
	       (socket->address.family == NETADDR_V6 && !socket->v6only);
}

bool diag_is_full(const struct diag_socket *socket)
{
	return socket->waiting > socket->backlog;
}

struct opening {
	bool udp;
	diag_open_each *each;
	void *data;
};

/* Returns the milliseconds since the last data; 0 if the kernel does not tell. */
static uint32_t idle_of(const struct nlmsghdr *message)
{
	const struct nlattr *attribute;
	struct tcp_info info = {0};

	mnl_attr_for_each(attribute, message, sizeof(struct inet_diag_msg))
	{
		size_t size = mnl_attr_get_payload_len(attribute);

		if (mnl_attr_get_type(attribute) == INET_DIAG_INFO)
			memcpy(&info, mnl_attr_get_payload(attribute), size < sizeof(info) ? size : sizeof(info));
	}
	return info.tcpi_last_data_sent < info.tcpi_last_data_recv ? info.tcpi_last_data_sent : info.tcpi_last_data_recv;
}

static int take_open(const struct nlmsghdr *message, void *data)
{
	const struct inet_diag_msg *info = info_of(message);
	const struct opening *opening = data;

	if (info) {
		const struct diag_open open = {
			.local = local_address(info),
			.port = ntohs(info->id.idiag_sport),
			.udp = opening->udp,
			.established = !opening->udp && info->idiag_state == TCP_ESTABLISHED,
			.idle_ms = idle_of(message),
		};

		opening->each(&open, opening->data);
	}
	return MNL_CB_OK;
}

int diag_each_open(diag_open_each *each, void *data, bool with_idle)
{
	const struct kind tcp = {
		.protocol = IPPROTO_TCP,
		.extensions = with_idle ? 1u << (INET_DIAG_INFO - 1) : 0,
		.states = 1u << TCP_ESTABLISHED | 1u << TCP_SYN_RECV | 1u << TCP_FIN_WAIT1 | 1u << TCP_FIN_WAIT2 |
			  1u << TCP_CLOSE_WAIT | 1u << TCP_LAST_ACK | 1u << TCP_CLOSING,
	};
	const struct kind udp = {.protocol = IPPROTO_UDP, .states = 1u << TCP_ESTABLISHED};
	struct opening opening = {false, each, data};
	int error = dump_all(&tcp, take_open, &opening);

	opening.udp = true;
	return error ? error : dump_all(&udp, take_open, &opening);
}
