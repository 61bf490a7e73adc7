/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the headers that carry a packet to its first hop: Ethernet, IPv4 or IPv6, UDP, GUE. Pure, thread-safe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/net.h"
#include "gue/gue_wire.h"

#define ENCAPSULATE_MAX_HOPS 16 /* first and later: two rows of eight */
#define ENCAPSULATE_MAX_IPV6 (GUE_MAX_LATER_IPV6 + 1) /* the same for outer IPv6 */
#define ENCAPSULATE_MAX_SIZE (NET_ETHERNET_SIZE + GUE_OUTER_SIZE_IPV6(ENCAPSULATE_MAX_IPV6 - 1))
_Static_assert(GUE_OUTER_SIZE(ENCAPSULATE_MAX_HOPS - 1) < GUE_OUTER_SIZE_IPV6(ENCAPSULATE_MAX_IPV6 - 1),
	"the largest headers are those with outer IPv6");

/* The outer header fields that are the same for every packet that leaves a port. */
struct encapsulate_outer {
	uint8_t destination_mac[6]; /* the next hop */
	uint8_t source_mac[6]; /* the port */
	uint32_t source_ip; /* network order; 0: none */
	uint8_t source_ip6[16]; /* network order; zeros: none */
};

/*
 * Sets a MAC of the struct, given with its first byte lowest. Writes it only if it changes: who compares the struct
 * right after a store of a part of it waits until the store, and all before it, have reached the cache.
 */
static inline void encapsulate_set_mac(uint8_t to[6], uint64_t mac)
{
	if (memcmp(to, &mac, 6) != 0)
		memcpy(to, &mac, 6);
}

/* Returns hop_count, or the most hops that a packet has room for. ipv6: the outer header is IPv6. */
static inline unsigned encapsulate_hops(bool ipv6, unsigned hop_count)
{
	unsigned most = ipv6 ? ENCAPSULATE_MAX_IPV6 : ENCAPSULATE_MAX_HOPS;

	return hop_count < most ? hop_count : most;
}

/* Bytes from the outer IP header to the inner one, for hop_count hops, at least 1. ipv6: the outer header is IPv6. */
static inline uint32_t encapsulate_outer_size(bool ipv6, unsigned hop_count)
{
	return ipv6 ? GUE_OUTER_SIZE_IPV6(hop_count - 1) : GUE_OUTER_SIZE(hop_count - 1);
}

/* The same with the Ethernet header. */
static inline uint32_t encapsulate_size(bool ipv6, unsigned hop_count)
{
	return NET_ETHERNET_SIZE + encapsulate_outer_size(ipv6, hop_count);
}

/* Writes only the GUE header, up to the hops. Returns its size. ipv6: the outer header is IPv6. */
uint32_t encapsulate_write_gue(uint8_t *to, bool ipv6, unsigned later_count, uint8_t inner_protocol);

/*
 * Writes encapsulate_size() bytes at `to`. ipv6: NULL: hops are IPv4 addresses in network order; else they are indices
 * in it. The first hop is the destination. inner_size: bytes from the inner IP header on; the outer total length must
 * fit in 16 bits. inner_protocol: 4 or 41. source_port: host order. The UDP checksum is 0
 * (docs/reference/gue.md#the-udp-checksum).
 */
void encapsulate_write(uint8_t *to, const struct encapsulate_outer *outer, const uint32_t *hops, unsigned hop_count,
	const struct net_ipv6_address *ipv6, uint32_t inner_size, uint8_t inner_protocol, uint16_t source_port);
