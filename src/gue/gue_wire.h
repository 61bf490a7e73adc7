/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GUE (draft-ietf-intarea-gue, variant 0) with GLB's private data, which lists the hops after the first. Freestanding:
 * the director, the tools and the eBPF program on the proxies include it. All fields are in network order.
 *
 *   byte 0     version (2 bits), control (1 bit), hlen (5 bits): number of 4-byte words after the first
 *   byte 1     protocol of the inner packet: 4 or 41
 *   bytes 2-3  flags, 0
 *   bytes 4-5  type of the private data: 0, or 1 behind outer IPv6
 *   byte 6     next hop: index, from 0, of the hop to try next if a proxy does not know the flow
 *   byte 7     hop count: number of hops that follow
 *   then       the hops: an IPv4 address each, or an IPv6 address each behind outer IPv6
 */
#pragma once

#include <linux/types.h>

#define GUE_PORT            19523 /* UDP destination port unless configured otherwise */
#define GUE_PORT_SOURCE_BIT 0x8000 /* source ports are 0x8000..0xffff */
#define GUE_VERSION_MASK    0xc0
#define GUE_CONTROL_MASK    0x20
#define GUE_HLEN_MASK       0x1f

/* Type of the private data, and the most hops in it, by the family of the outer header: hlen has 5 bits, and is
 * 1 + hops for IPv4, 1 + 4 * hops for IPv6. */
#define GUE_PRIVATE_TYPE      0
#define GUE_MAX_LATER_HOPS    30
#define GUE_PRIVATE_TYPE_IPV6 1
#define GUE_MAX_LATER_IPV6    7

#define GUE_INNER_IPV4 4
#define GUE_INNER_IPV6 41

struct gue_header {
	__u8 version_control_hlen;
	__u8 inner_protocol;
	__be16 flags;
};

struct gue_private {
	__be16 type;
	__u8 next_hop;
	__u8 hop_count;
	__be32 hops[]; /* hop_count of them, or four times as many with GUE_PRIVATE_TYPE_IPV6 */
};

/* Bytes before the inner packet, from the outer IPv4 header on, with n hops after the first. */
#define GUE_IPV4_SIZE          20
#define GUE_IPV6_SIZE          40
#define GUE_UDP_SIZE           8
#define GUE_BASE_SIZE          8 /* struct gue_header + struct gue_private */
#define GUE_OUTER_SIZE(n)      (GUE_IPV4_SIZE + GUE_UDP_SIZE + GUE_BASE_SIZE + 4 * (n))
#define GUE_OUTER_SIZE_IPV6(n) (GUE_IPV6_SIZE + GUE_UDP_SIZE + GUE_BASE_SIZE + 16 * (n))

/* Default of options: the hops in a row of a new table, which a program that sees no table assumes.
 * docs/explanation/connections.md has the reasons. */
#define GUE_USUAL_HOPS "4"

_Static_assert(sizeof(struct gue_header) == 4, "GUE base header");
_Static_assert(sizeof(struct gue_private) == 4, "GLB private data without hops");
