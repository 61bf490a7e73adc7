/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All sums here are of 16-bit words loaded little-endian. A one's complement sum is the same in either byte order,
 * except for the order of its own bytes (RFC 1071 section 2).
 */
#include "gue/outer_checksum.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "gue/gue_wire.h"

/* Adds a multiple of 4 bytes to a sum. */
static inline uint64_t add_words(uint64_t sum, const uint8_t *bytes, uint32_t size)
{
	for (uint32_t at = 0; at < size; at += 4)
		sum += load_le32(bytes + at);
	return sum;
}

/* Adds any number of bytes up to 64 KiB. After an odd number, a 0 follows. */
static uint64_t add_bytes(uint64_t sum, const uint8_t *bytes, uint32_t size)
{
	uint8_t last[4] = {0};

	memcpy(last, bytes + (size & ~3u), size & 3);
	return add_words(sum, bytes, size & ~3u) + load_le32(last);
}

static inline uint16_t fold(uint64_t sum)
{
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/* A number from 0 to 0xffff as a 16-bit word of the packet. */
static inline uint32_t word(uint32_t number)
{
	return __builtin_bswap16((uint16_t)number);
}

/* Returns whether a TCP segment or UDP datagram of `size` bytes has a checksum over all of them. readable:
 * bytes of it. */
static inline bool has_checksum(uint8_t protocol, const uint8_t *transport, uint32_t size, uint32_t readable)
{
	if (protocol == IPPROTO_TCP)
		return size >= NET_TCP_SIZE;
	return protocol == IPPROTO_UDP && size >= NET_UDP_SIZE && readable >= NET_UDP_SIZE &&
	       load_be16(transport + 4) == size && load_le16(transport + 6);
}

/*
 * The sum of a valid IPv4 packet, from its header. The words of a valid IPv4 header add up to 0. Those of a valid
 * segment and of its pseudo-header do so, too. So the sum is that of the pseudo-header, negated.
 */
static inline bool derive_ipv4(const uint8_t *ip, uint32_t size, uint32_t readable, uint64_t *sum)
{
	uint32_t header, payload;

	if (readable < NET_IPV4_SIZE)
		return false;
	header = 4u * (ip[0] & 0xf);
	payload = size - header;
	if (load_be16(ip + 2) != size || load_be16(ip + 6) & NET_IS_FRAGMENT || header < NET_IPV4_SIZE ||
		header > size || header > readable || !has_checksum(ip[9], ip + header, payload, readable - header))
		return false;
	*sum += 0xffff ^ fold((uint64_t)load_le32(ip + 12) + load_le32(ip + 16) + word(ip[9]) + word(payload));
	return true;
}

/*
 * The same for IPv6 without extension headers. Its header has the addresses and the length of the pseudo-header, too.
 * So they cancel each other out. What is left are the first 4 bytes, the protocol with the hop limit, and the protocol
 * of the pseudo-header, negated.
 */
static inline bool derive_ipv6(const uint8_t *ip, uint32_t size, uint32_t readable, uint64_t *sum)
{
	if (readable < NET_IPV6_SIZE || load_be16(ip + 4) + (uint32_t)NET_IPV6_SIZE != size ||
		!has_checksum(ip[6], ip + NET_IPV6_SIZE, size - NET_IPV6_SIZE, readable - NET_IPV6_SIZE))
		return false;
	*sum += (uint64_t)load_le32(ip) + load_le16(ip + 6) + (0xffff ^ word(ip[6]));
	return true;
}

void outer_checksum_write(uint8_t *ip, uint32_t readable)
{
	bool ipv6 = ip[0] >> 4 == 6;
	uint8_t *udp = ip + (ipv6 ? GUE_IPV6_SIZE : GUE_IPV4_SIZE);
	uint32_t headers = GUE_UDP_SIZE + 4u + 4u * (udp[GUE_UDP_SIZE] & GUE_HLEN_MASK);
	uint32_t size = load_be16(udp + 4) - headers; /* of the inner packet */
	const uint8_t *inner = udp + headers;
	uint64_t sum = word(IPPROTO_UDP) + load_le16(udp + 4);
	uint16_t checksum;
	bool derived;

	readable -= (uint32_t)(inner - ip);
	sum = ipv6 ? add_words(sum, ip + 8, 32) : add_words(sum, ip + 12, 8);
	sum = add_words(sum, udp, headers);
	if (udp[GUE_UDP_SIZE + 1] == GUE_INNER_IPV4)
		derived = derive_ipv4(inner, size, readable, &sum);
	else
		derived = derive_ipv6(inner, size, readable, &sum);
	if (!derived && readable < size)
		return;
	if (!derived)
		sum = add_bytes(sum, inner, size);
	checksum = (uint16_t)~fold(sum);
	if (!checksum)
		checksum = 0xffff; /* 0 would say that there is none */
	memcpy(udp + 6, &checksum, sizeof(checksum));
}
