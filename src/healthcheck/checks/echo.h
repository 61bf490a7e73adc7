/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP and ICMPv6 echo packets: the request that goes into a tunnel, and what comes back. Pure;
 * bytes are in network order.
 */
#ifndef GLB_HEALTHCHECK_CHECKS_ECHO_H
#define GLB_HEALTHCHECK_CHECKS_ECHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"

#define ECHO_NONCE_SIZE      16
#define ECHO_MAX_SIZE        (40 + 8 + ECHO_NONCE_SIZE)
#define ECHO_TUNNEL_MAX_SIZE (8 + ECHO_MAX_SIZE)

/* What tells one request from every other. */
struct echo {
	uint16_t identifier, sequence;
	uint8_t nonce[ECHO_NONCE_SIZE];
};

/* The IP packet of a request; both addresses are of one family. Returns its size. */
size_t echo_write(uint8_t to[ECHO_MAX_SIZE], const struct netaddr *source, const struct netaddr *destination,
	const struct echo *echo);

/* GLB's GUE header without hops, and the request: the payload of a UDP datagram. Returns its size.
 */
size_t echo_write_gue(uint8_t to[ECHO_TUNNEL_MAX_SIZE], const struct netaddr *source, const struct netaddr *destination,
	const struct echo *echo);

/* A reply from its ICMP header on; false: it is none, or not of ours. */
bool echo_read_reply(const uint8_t *icmp, size_t size, enum netaddr_family family, struct echo *echo);

/* A reply from its IPv4 header on, as raw sockets give it. */
bool echo_read_reply_ipv4(const uint8_t *packet, size_t size, struct echo *echo);

/* A request of ours from its IP header on, as an ICMP error quotes it. */
bool echo_read_request(const uint8_t *packet, size_t size, struct echo *echo);

#endif
