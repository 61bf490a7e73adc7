/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts struct netaddr to and from the addresses of socket calls. Ports are in host byte order. */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "common/netaddr.h"

union sockaddr_any {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Returns the size of the address, in bytes. */
static inline socklen_t sockaddr_fill(union sockaddr_any *to, const struct netaddr *addr, uint16_t port)
{
	memset(to, 0, sizeof(*to));
	if (addr->family == NETADDR_V4) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = htons(port);
		memcpy(&to->v4.sin_addr, addr->bytes, 4);
		return sizeof(to->v4);
	}
	to->v6.sin6_family = AF_INET6;
	to->v6.sin6_port = htons(port);
	memcpy(&to->v6.sin6_addr, addr->bytes, 16);
	return sizeof(to->v6);
}

static inline struct netaddr sockaddr_netaddr(const union sockaddr_any *from)
{
	if (from->sa.sa_family == AF_INET)
		return netaddr_from_bytes(NETADDR_V4, &from->v4.sin_addr);
	return netaddr_from_bytes(NETADDR_V6, &from->v6.sin6_addr);
}

static inline int sockaddr_family(const struct netaddr *addr)
{
	return addr->family == NETADDR_V4 ? AF_INET : AF_INET6;
}
