/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outer headers that are built once and copied for every packet. Each struct holds all bytes before the second hop that
 * are the same for packets of one outer family, one inner family and one number of hops. What differs per packet is
 * written at the offsets below: lengths, IPv4 checksum, hops, source port and flow label. Pure.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "common/byteorder.h"
#include "gue/encapsulate.h"
#include "gue/gue_wire.h"

#define PREBUILT_MAX_HOPS 8
#define PREBUILT_SIZE     80
_Static_assert(PREBUILT_MAX_HOPS <= ENCAPSULATE_MAX_IPV6, "outer IPv6 has room for as many hops");

/* Byte offsets of the fields that differ per packet, from the Ethernet header on. */
enum prebuilt_offset {
	PREBUILT_TOTAL_LENGTH = 16,
	PREBUILT_CHECKSUM = 24,
	PREBUILT_DESTINATION = 30,
	PREBUILT_SOURCE_PORT = 34,
	PREBUILT_UDP_LENGTH = 38,
	PREBUILT_HOPS = 50, /* second and later hops */
};

/* The same with outer IPv6. */
enum prebuilt_offset_ipv6 {
	PREBUILT_IPV6_LABEL = 16, /* its low 16 bits */
	PREBUILT_IPV6_LENGTH = 18,
	PREBUILT_IPV6_SOURCE = 22,
	PREBUILT_IPV6_DESTINATION = 38,
	PREBUILT_IPV6_SOURCE_PORT = 54,
	PREBUILT_IPV6_UDP_LENGTH = 58,
	PREBUILT_IPV6_GUE = 62,
	PREBUILT_IPV6_HOPS = 70,
};

struct prebuilt_headers {
	uint8_t bytes[PREBUILT_SIZE] __attribute__((aligned(64))); /* those before the second hop */
	/* With outer IPv4: sum of the IPv4 header's 16-bit words, loaded little-endian, with total length and
	 * destination still 0. */
	uint32_t sum;
};

/* Index for an outer and an inner family (outer6, v6: 0 or 1) and 1 to PREBUILT_MAX_HOPS hops. */
#define PREBUILT_INDEX(outer6, v6, hops) ((2 * (outer6) + (v6)) * PREBUILT_MAX_HOPS + (hops)-1)
#define PREBUILT_COUNT                   (4 * PREBUILT_MAX_HOPS)

/*
 * Writes the same bytes as encapsulate_write() with outer IPv4. headers: those for the families and hop_count. hops:
 * network order. inner_size: bytes from the inner IP header on. source_port: host order.
 */
static inline void prebuilt_write(uint8_t *to, const struct prebuilt_headers *headers, const uint32_t *hops,
	unsigned hop_count, uint32_t inner_size, uint16_t source_port)
{
	uint32_t udp_length = inner_size + GUE_OUTER_SIZE(hop_count - 1u) - GUE_IPV4_SIZE;
	uint32_t length = __builtin_bswap16((uint16_t)(udp_length + GUE_IPV4_SIZE));
	uint32_t sum = headers->sum + length + (hops[0] & 0xffff) + (hops[0] >> 16);
	uint16_t checksum;

	sum = (sum & 0xffff) + (sum >> 16);
	checksum = (uint16_t) ~(sum + (sum >> 16));
	memcpy(to, headers->bytes, PREBUILT_HOPS);
	memcpy(to + PREBUILT_TOTAL_LENGTH, &length, 2);
	memcpy(to + PREBUILT_CHECKSUM, &checksum, 2);
	memcpy(to + PREBUILT_DESTINATION, hops, 4);
	store_be16(to + PREBUILT_SOURCE_PORT, source_port);
	store_be16(to + PREBUILT_UDP_LENGTH, (uint16_t)udp_length);
	for (unsigned i = 1; i < hop_count; i++)
		memcpy(to + PREBUILT_HOPS + 4 * (i - 1), &hops[i], 4);
}

/*
 * Writes the same bytes as encapsulate_write() with outer IPv6, up to the second hop, and that one if `second` is not
 * NULL. port_length: as on the wire, loaded little-endian: the source port, then the UDP length. mac: the destination
 * MAC, if it is 0 in the headers; else 0.
 */
static inline void prebuilt_write_ipv6(uint8_t *to, const struct prebuilt_headers *headers, uint64_t mac,
	uint32_t port_length, const struct net_ipv6_address *first, const struct net_ipv6_address *second)
{
	const uint8_t *bytes = headers->bytes;
	uint64_t udp = (port_length & 0xffff) | (uint64_t)(port_length >> 16) << 32;

	store_le64(to, load_le64(bytes) | mac);
	memcpy(to + 8, bytes + 8, 8);
	store_le32(to + PREBUILT_IPV6_LABEL, port_length);
	memcpy(to + PREBUILT_IPV6_LENGTH + 2, bytes + PREBUILT_IPV6_LENGTH + 2, 2);
	memcpy(to + PREBUILT_IPV6_SOURCE, bytes + PREBUILT_IPV6_SOURCE, 16);
	memcpy(to + PREBUILT_IPV6_DESTINATION, first, 16);
	store_le64(to + PREBUILT_IPV6_SOURCE_PORT, load_le64(bytes + PREBUILT_IPV6_SOURCE_PORT) | udp);
	memcpy(to + PREBUILT_IPV6_GUE, bytes + PREBUILT_IPV6_GUE, 8);
	if (second)
		memcpy(to + PREBUILT_IPV6_HOPS, second, 16);
}

/* Writes the same bytes as encapsulate_write() with outer IPv6. */
static inline void prebuilt_write_ipv6_hops(uint8_t *to, const struct prebuilt_headers *headers, const uint32_t *hops,
	unsigned hop_count, const struct net_ipv6_address *ipv6, uint32_t inner_size, uint16_t source_port)
{
	uint16_t udp_length = (uint16_t)(inner_size + GUE_OUTER_SIZE_IPV6(hop_count - 1) - GUE_IPV6_SIZE);
	uint32_t port_length = __builtin_bswap16(source_port) | (uint32_t)__builtin_bswap16(udp_length) << 16;

	prebuilt_write_ipv6(to, headers, 0, port_length, &ipv6[hops[0]], hop_count > 1 ? &ipv6[hops[1]] : NULL);
	for (unsigned i = 2; i < hop_count; i++)
		memcpy(to + PREBUILT_IPV6_HOPS + 16 * (i - 1), &ipv6[hops[i]], 16);
}

/* Builds all PREBUILT_COUNT headers. The caller does so again after `outer` has changed. */
void prebuilt_fill(struct prebuilt_headers prebuilt[PREBUILT_COUNT], const struct encapsulate_outer *outer);
