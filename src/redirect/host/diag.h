/* SPDX-License-Identifier: BSD-3-Clause */
/* The sockets of this network namespace, as the kernel lists them (inet_diag). Plain data; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"

struct diag_socket {
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	bool connected; /* UDP only */
	struct netaddr address; /* local; all zero: any address; an IPv4-mapped one is given as IPv4 */
	bool v6only; /* accepts no IPv4 */
	uint16_t port;
	uint32_t link; /* index of the interface to which it is bound; 0: none */
	/* TCP only: connections that wait for accept(), and the backlog. */
	uint32_t waiting, backlog;
};

struct diag_sockets {
	struct diag_socket *items;
	size_t count;
};

/*
 * Read the listening TCP sockets; diag_read() also reads all UDP sockets. Return 0 or -errno. The caller calls
 * diag_free() in either case.
 */
int diag_read_listeners(struct diag_sockets *sockets);
int diag_read(struct diag_sockets *sockets);
void diag_free(struct diag_sockets *sockets);

/* Returns whether the socket accepts packets for every address of its families. */
bool diag_is_any(const struct diag_socket *socket);

/* Returns whether a listening TCP socket accepts packets for the address, or for one of this prefix. */
bool diag_serves(const struct diag_socket *socket, const struct netprefix *address);

/* Returns whether no more connections can wait for accept(), so that the kernel drops new ones. */
bool diag_is_full(const struct diag_socket *socket);

/* A connection that is open or closing, also half-open, or a connected UDP socket. */
struct diag_open {
	struct netaddr local;
	uint16_t port;
	bool udp;
	bool established; /* TCP: open in both directions, also if it waits for accept() */
	/* Since the last data in either direction, or since it opened; UDP, half-open, closed by both ends: 0 */
	uint32_t idle_ms;
};

/*
 * Calls `each` for all of them. The kernel needs about a second for a million, and longer with idle_ms, which is 0
 * without `with_idle`. It does not stop the connections meanwhile, so one that opens or closes may be missing, or be
 * seen twice.
 */
typedef void diag_open_each(const struct diag_open *open, void *data);
int diag_each_open(diag_open_each *each, void *data, bool with_idle);
