/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes ICMP and ICMPv6 echo requests that are sent in a tunnel, and reads the replies. Pure. Packets are in network
 * byte order, struct echo is in host byte order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"

#define ECHO_NONCE_SIZE      16
#define ECHO_MAX_SIZE        (40 + 8 + ECHO_NONCE_SIZE)
#define ECHO_TUNNEL_MAX_SIZE (8 + ECHO_MAX_SIZE)

/* Identifies a request. The reply has the same values. */
struct echo {
	uint16_t identifier, sequence;
	uint8_t nonce[ECHO_NONCE_SIZE];
};

/* Writes an IP packet with an echo request. Both addresses have the same family. Returns the size in bytes. */
size_t echo_write(uint8_t to[ECHO_MAX_SIZE], const struct netaddr *source, const struct netaddr *destination,
	const struct echo *echo);

/* Writes the payload of a GUE datagram: GLB's GUE header without hops, then the request. `outer` is the family of the
 * proxy. Returns the size in bytes. */
size_t echo_write_gue(uint8_t to[ECHO_TUNNEL_MAX_SIZE], enum netaddr_family outer, const struct netaddr *source,
	const struct netaddr *destination, const struct echo *echo);

/* Writes the payload of a FOU datagram whose port takes GRE: a GRE header with a key of zero, then the request. Returns
 * the size in bytes. */
size_t echo_write_gre(uint8_t to[ECHO_TUNNEL_MAX_SIZE], const struct netaddr *source, const struct netaddr *destination,
	const struct echo *echo);

/*
 * The three readers below return false if the packet is something else, or does not have the size of our requests.
 * This one reads a reply that starts with its ICMP header.
 */
bool echo_read_reply(const uint8_t *icmp, size_t size, enum netaddr_family family, struct echo *echo);

/* Reads a reply that starts with its IPv4 header, as it comes from a raw socket. */
bool echo_read_reply_ipv4(const uint8_t *packet, size_t size, struct echo *echo);

/* Reads a request that starts with its IP header, as an ICMP error quotes it. */
bool echo_read_request(const uint8_t *packet, size_t size, struct echo *echo);
