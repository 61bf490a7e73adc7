/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the headers that carry a packet to its first hop: Ethernet, IPv4, UDP, GUE. Pure, thread-safe. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "common/net.h"
#include "gue/gue_wire.h"

#define ENCAPSULATE_MAX_HOPS 16 /* first and later: two rows of eight */
#define ENCAPSULATE_MAX_SIZE (NET_ETHERNET_SIZE + GUE_OUTER_SIZE(ENCAPSULATE_MAX_HOPS - 1))

/* The outer header fields that are the same for every packet that leaves a port. */
struct encapsulate_outer {
	uint8_t destination_mac[6]; /* the next hop */
	uint8_t source_mac[6]; /* the port */
	uint32_t source_ip; /* network order */
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

/* Bytes before the inner IP header: Ethernet, IPv4, UDP and GUE headers for hop_count hops, at least 1. */
static inline uint32_t encapsulate_size(unsigned hop_count)
{
	return NET_ETHERNET_SIZE + GUE_OUTER_SIZE(hop_count - 1);
}

/* Writes only the GUE header, with the hops after the first in network order. Returns its size. */
uint32_t encapsulate_write_gue(uint8_t *to, const uint32_t *later_hops, unsigned later_count, uint8_t inner_protocol);

/*
 * Writes encapsulate_size(hop_count) bytes at `to`. hops: network order; the first is the destination. inner_size:
 * bytes from the inner IP header on; the outer total length must fit in 16 bits. inner_protocol: 4 or 41. source_port:
 * host order. The UDP checksum is 0, which IPv4 allows (RFC 768).
 */
void encapsulate_write(uint8_t *to, const struct encapsulate_outer *outer, const uint32_t *hops, unsigned hop_count,
	uint32_t inner_size, uint8_t inner_protocol, uint16_t source_port);
