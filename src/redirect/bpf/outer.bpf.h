/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Parses a frame from the Ethernet header to the end of the GUE header. A packet is GUE if it is not a
 * fragment and has a whole UDP header with the configured destination port. The program passes all other
 * packets to the kernel, even if their headers are invalid. If a GUE packet has an invalid length or GUE
 * header, the program drops and counts it. It verifies no checksums: the director sends UDP without a
 * checksum unless it is told to, and the inner packet has its own.
 */
#pragma once

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

#include "bpf/cursor.bpf.h"
#include "bpf/ethernet.bpf.h"
#include "gue/gue_wire.h"
#include "redirect/bpf/allow.bpf.h"
#include "redirect/redirect.h"

#define OUTER_FRAGMENT 0x3fff /* the bits of more-fragments and fragment offset */

enum outer_result {
	OUTER_GUE = -2,
	OUTER_NOT_GUE = -1,
	/* Values >= 0 are the enum redirect_counter with which the packet is dropped. */
};

/* The pointers are into the packet. They are valid until the program moves the packet's start. */
struct outer {
	__u32 tags;
	bool ipv6; /* the family of the outer IP header */
	__u8 tos, ttl; /* in IPv6 the traffic class and the hop limit */
	__u32 gue_at; /* offset of the GUE header in the frame */
	struct gue_header *gue;
	struct gue_private *private_data;
	bool has_next_hop;
	bool next_is_self; /* the outer destination is the next hop, or the last hop if there is no next one */
	__u32 passed; /* how many hops have passed the packet on */
	bool returns; /* the packet goes back to the hop that sent it, so the index of its next hop stays */
	bool names_later_hop; /* the connection ID of the inner QUIC packet does */
};

/* The offset of the outer IP header in the frame. */
static __always_inline __u32 outer_ip_at(const struct outer *outer)
{
	return sizeof(struct ethhdr) + sizeof(struct vlan_tag) * outer->tags;
}

/*
 * Both move the cursor from the IP header to the UDP header, and set *end to the offset of the packet's end, which may
 * be behind that of the frame. They return the source address, behind which the destination is, or NULL if the packet
 * is not UDP, or is a fragment.
 */
static __always_inline void *outer_ipv4(struct cursor *cursor, struct outer *outer, __u64 *end)
{
	struct iphdr *ip = cursor_peek(cursor, sizeof(*ip));
	__u32 header, total;

	if (!ip || ip->protocol != IPPROTO_UDP || ip->frag_off & bpf_htons(OUTER_FRAGMENT))
		return NULL;
	header = 4 * ip->ihl;
	total = bpf_ntohs(ip->tot_len);
	*end = cursor->at + total;
	if (ip->version != 4 || header < sizeof(*ip) || total < header + sizeof(struct udphdr))
		return NULL;
	outer->tos = ip->tos;
	outer->ttl = ip->ttl;
	return cursor_skip(cursor, header) ? &ip->saddr : NULL;
}

/* With extension headers the packet is not UDP here. */
static __always_inline void *outer_ipv6(struct cursor *cursor, struct outer *outer, __u64 *end)
{
	struct ipv6hdr *ip = cursor_take(cursor, sizeof(*ip));
	__u32 length;

	if (!ip || ip->version != 6 || ip->nexthdr != IPPROTO_UDP)
		return NULL;
	length = bpf_ntohs(ip->payload_len);
	*end = cursor->at + length;
	if (length < sizeof(struct udphdr))
		return NULL;
	outer->tos = ip->priority << 4 | ip->flow_lbl[0] >> 4;
	outer->ttl = ip->hop_limit;
	return &ip->saddr;
}

/* Moves the cursor from the UDP header to the GUE header, and shortens the packet to the length in the UDP header. */
static __always_inline int outer_udp(struct cursor *cursor, __u64 end, __u16 port, const void *addresses, bool ipv6)
{
	struct udphdr *udp = cursor_peek(cursor, sizeof(*udp));
	__u32 length;
	int allowed;

	if (!udp || udp->dest != bpf_htons(port))
		return OUTER_NOT_GUE;
	allowed = allow_path(cursor, addresses, ipv6);
	if (allowed != ALLOW_OK)
		return allowed;
	if (end > cursor->end)
		return REDIRECT_DROP_TRUNCATED;
	cursor->end = end;
	length = bpf_ntohs(udp->len);
	if (length < sizeof(*udp) + GUE_BASE_SIZE || !cursor_cut(cursor, length))
		return REDIRECT_DROP_TRUNCATED;
	cursor->at += sizeof(*udp);
	return OUTER_GUE;
}

/* Moves the cursor from the GUE header to the inner packet. The order of the checks is the same as in gue/decode.c. */
static __always_inline int outer_gue(struct cursor *cursor, struct outer *outer, const void *addresses, bool ipv6)
{
	const __u32 size = ADDRESS_SIZE(ipv6);
	struct cursor hop = *cursor;
	struct gue_header *gue = cursor_peek(cursor, GUE_BASE_SIZE);
	struct gue_private *private_data = (void *)(gue + 1);
	__u32 words;

	if (!gue)
		return REDIRECT_DROP_TRUNCATED;
	words = gue->version_control_hlen & GUE_HLEN_MASK;
	if (gue->version_control_hlen & GUE_VERSION_MASK)
		return REDIRECT_DROP_BAD_VERSION;
	if (gue->version_control_hlen & GUE_CONTROL_MASK)
		return REDIRECT_DROP_CONTROL;
	if (gue->flags)
		return REDIRECT_DROP_BAD_FLAGS;
	if (gue->inner_protocol != GUE_INNER_IPV4 && gue->inner_protocol != GUE_INNER_IPV6)
		return REDIRECT_DROP_BAD_PROTOCOL;
	if (!cursor_skip(cursor, sizeof(*gue) + 4 * words))
		return REDIRECT_DROP_BAD_LENGTH;
	if (private_data->type != bpf_htons(ipv6 ? GUE_PRIVATE_TYPE_IPV6 : GUE_PRIVATE_TYPE))
		return REDIRECT_DROP_BAD_TYPE;
	if (words != 1u + size / 4 * private_data->hop_count)
		return REDIRECT_DROP_BAD_LENGTH;
	if (private_data->next_hop > private_data->hop_count)
		return REDIRECT_DROP_BAD_INDEX;
	outer->gue_at = hop.at;
	outer->gue = gue;
	outer->private_data = private_data;
	outer->has_next_hop = private_data->next_hop < private_data->hop_count;
	outer->passed = private_data->next_hop;
	if (private_data->hop_count) {
		__u32 index = private_data->next_hop - !outer->has_next_hop;
		void *address;

		hop.at += GUE_BASE_SIZE + size * (index & GUE_HLEN_MASK * 4 / size);
		address = cursor_peek(&hop, size);
		if (!address) /* it is not in the first buffer, because `words` was checked */
			return REDIRECT_DROP_TRUNCATED;
		outer->next_is_self = address_equal(address, addresses + size, ipv6);
	}
	return OUTER_GUE;
}

/* Moves the cursor from the outer IP header to the inner packet. `ipv6` is a constant. */
static __always_inline int outer_of(struct cursor *cursor, struct outer *outer, __u16 port, bool ipv6)
{
	__u64 end = 0;
	void *addresses = ipv6 ? outer_ipv6(cursor, outer, &end) : outer_ipv4(cursor, outer, &end);
	int result;

	if (!addresses)
		return OUTER_NOT_GUE;
	outer->ipv6 = ipv6;
	result = outer_udp(cursor, end, port, addresses, ipv6);
	return result == OUTER_GUE ? outer_gue(cursor, outer, addresses, ipv6) : result;
}

/* Moves the cursor to the inner packet of a GUE packet to UDP port `port`. Returns an enum outer_result. */
static __always_inline int outer_parse(struct cursor *cursor, struct outer *outer, __u16 port)
{
	__be16 type = ethernet_take(cursor, &outer->tags);

	if (type == bpf_htons(ETH_P_IP))
		return outer_of(cursor, outer, port, false);
	if (type == bpf_htons(ETH_P_IPV6))
		return outer_of(cursor, outer, port, true);
	return OUTER_NOT_GUE;
}
