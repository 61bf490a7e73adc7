/* SPDX-License-Identifier: BSD-3-Clause */
/* The sockets of this network namespace, as the kernel lists them (inet_diag). Plain data; one thread. */
#ifndef GLB_REDIRECT_CHECK_DIAG_H
#define GLB_REDIRECT_CHECK_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"

struct diag_socket {
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	bool connected; /* UDP only */
	struct netaddr address; /* local; all zero: any address */
	uint16_t port;
	uint32_t link; /* index of the interface to which it is bound; 0: none */
	/* TCP only: connections that wait for accept(), and the backlog. */
	uint32_t waiting, backlog;
};

struct diag_sockets {
	struct diag_socket *items;
	size_t count;
};

/* Reads the listening TCP sockets, and all UDP sockets. Returns 0 or -errno. The caller calls diag_free() in either case. */
int diag_read(struct diag_sockets *sockets);
void diag_free(struct diag_sockets *sockets);

#endif
