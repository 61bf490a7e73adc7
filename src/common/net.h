/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes, numbers and headers of Ethernet, IP and what IP carries. Numbers are in host order; protocol numbers are the
 * IPPROTO_* of <netinet/in.h>. BPF programs take theirs from <linux/...>. Pure, thread-safe.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/byteorder.h"
#include "common/span.h"

/* Sizes in bytes, without options and extensions. */
enum {
	NET_MAC_SIZE = 6,
	NET_ETHERNET_SIZE = 14,
	NET_TAG_SIZE = 4,
	NET_IPV4_SIZE = 20,
	NET_IPV6_SIZE = 40,
	NET_TCP_SIZE = 20,
	NET_UDP_SIZE = 8,
	NET_ICMP_SIZE = 8, /* ICMPv6, too */
};

enum {
	NET_TYPE_IPV4 = 0x0800,
	NET_TYPE_IPV6 = 0x86dd,
	NET_TYPE_CTAG = 0x8100, /* 802.1Q */
	NET_TYPE_STAG = 0x88a8, /* 802.1ad */
};

#define NET_MAX_TAGS 2 /* frames with more are not understood */

/* The field at byte 6 of an IPv4 header. */
enum {
	NET_DONT_FRAGMENT = 0x4000,
	NET_IS_FRAGMENT = 0x3fff, /* "more fragments", or an offset */
	NET_IS_LATER_FRAGMENT = 0x1fff, /* an offset */
};

/* ICMP types, and codes behind the type that they belong to. */
enum {
	NET_ICMP_ECHO_REPLY = 0,
	NET_ICMP_UNREACHABLE = 3,
	NET_ICMP_FRAGMENTATION_NEEDED = 4, /* code */
	NET_ICMP_ECHO_REQUEST = 8,
	NET_ICMP_TIME_EXCEEDED = 11,
	NET_ICMP_PARAMETER_PROBLEM = 12,
	NET_ICMPV6_UNREACHABLE = 1,
	NET_ICMPV6_TOO_BIG = 2,
	NET_ICMPV6_PARAMETER_PROBLEM = 4,
	NET_ICMPV6_ECHO_REQUEST = 128,
	NET_ICMPV6_ECHO_REPLY = 129,
};

#define NET_HOP_LIMIT 64 /* of packets that are made here; also the TTL */

static inline bool net_is_tag(uint16_t type)
{
	return type == NET_TYPE_CTAG || type == NET_TYPE_STAG;
}

/* Moves *at over the Ethernet header and up to NET_MAX_TAGS tags. *type is what follows. False: the frame
 * ends before. */
static inline bool net_skip_ethernet(struct span *at, uint16_t *type)
{
	const uint8_t *header = span_take(at, NET_ETHERNET_SIZE);

	if (!header)
		return false;
	*type = load_be16(header + 12);
	for (int tags = 0; tags < NET_MAX_TAGS && net_is_tag(*type); tags++) {
		const uint8_t *tag = span_take(at, NET_TAG_SIZE);

		if (!tag)
			return false;
		*type = load_be16(tag + 2);
	}
	return true;
}

/* Writes NET_ETHERNET_SIZE bytes. */
void net_write_ethernet(uint8_t *to, const uint8_t destination[6], const uint8_t source[6], uint16_t type);

struct net_ipv4 {
	const void *source, *destination; /* 4 bytes each */
	uint16_t total_length;
	uint16_t identification;
	uint16_t fragment; /* NET_DONT_FRAGMENT or 0 */
	uint8_t protocol;
};

/* Writes NET_IPV4_SIZE bytes with their checksum. */
void net_write_ipv4(uint8_t *to, const struct net_ipv4 *header);

struct net_ipv6_address {
	uint8_t bytes[16];
};

struct net_ipv6 {
	const void *source, *destination; /* 16 bytes each */
	uint32_t flow_label;
	uint16_t payload_length;
	uint8_t protocol;
};

/* Writes NET_IPV6_SIZE bytes. */
void net_write_ipv6(uint8_t *to, const struct net_ipv6 *header);

/*
 * The Internet checksum (RFC 1071) over bytes in network order. Adds `size` bytes to a running sum. Every piece but the
 * last must have an even size. All pieces together have at most 64 KiB.
 */
uint32_t net_checksum_add(uint32_t sum, const void *bytes, size_t size);

/* Returns the value of the checksum field, host order. */
uint16_t net_checksum_finish(uint32_t sum);

/* The sum of the pseudo-header (RFC 8200 section 8.1) of the packet with this header, for net_checksum_add(). */
uint32_t net_pseudo_sum_ipv6(const uint8_t *ip);
