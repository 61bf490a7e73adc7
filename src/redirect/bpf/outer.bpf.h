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
	struct iphdr *ip;
	struct udphdr *udp;
	struct gue_header *gue;
	struct gue_private *private_data;
	bool has_next_hop;
	__be32 next_hop; /* the last hop if there is no next one */
	__u32 passed; /* how many hops have passed the packet on */
	bool returns; /* the packet goes back to the hop that sent it, so the index of its next hop stays */
};

/* Moves the cursor from the IPv4 header to the GUE header, and shortens the packet to the length in the UDP header. */
static __always_inline int outer_ip_udp(struct cursor *cursor, struct outer *outer, __u16 port)
{
	struct cursor ip_start = *cursor;
	struct iphdr *ip = cursor_peek(cursor, sizeof(*ip));
	__u32 header, total, length;
	struct udphdr *udp;
	int allowed;

	if (!ip || ip->protocol != IPPROTO_UDP || ip->frag_off & bpf_htons(OUTER_FRAGMENT))
		return OUTER_NOT_GUE;
	header = 4 * ip->ihl;
	total = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || header < sizeof(*ip) || total < header + sizeof(*udp))
		return OUTER_NOT_GUE;
	if (!cursor_skip(cursor, header))
		return OUTER_NOT_GUE;
	udp = cursor_peek(cursor, sizeof(*udp));
	if (!udp || udp->dest != bpf_htons(port))
		return OUTER_NOT_GUE;
	allowed = allow_path(cursor, ip);
	if (allowed != ALLOW_OK)
		return allowed;

	if (!cursor_cut(&ip_start, total))
		return REDIRECT_DROP_TRUNCATED;
	cursor->end = ip_start.end;
	length = bpf_ntohs(udp->len);
	if (length < sizeof(*udp) + GUE_BASE_SIZE || !cursor_cut(cursor, length))
		return REDIRECT_DROP_TRUNCATED;
	cursor->at += sizeof(*udp);
	outer->ip = ip;
	outer->udp = udp;
	return OUTER_GUE;
}

/* Moves the cursor from the GUE header to the inner packet. The order of the checks is the same as in gue/decode.c. */
static __always_inline int outer_gue(struct cursor *cursor, struct outer *outer)
{
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
	if (private_data->type != bpf_htons(GUE_PRIVATE_TYPE))
		return REDIRECT_DROP_BAD_TYPE;
	if (words != 1u + private_data->hop_count)
		return REDIRECT_DROP_BAD_LENGTH;
	if (private_data->next_hop > private_data->hop_count)
		return REDIRECT_DROP_BAD_INDEX;
	outer->gue = gue;
	outer->private_data = private_data;
	outer->has_next_hop = private_data->next_hop < private_data->hop_count;
	outer->passed = private_data->next_hop;
	if (private_data->hop_count) {
		__u32 index = private_data->next_hop - !outer->has_next_hop;
		__be32 *address;

		hop.at += GUE_BASE_SIZE + 4 * (index & GUE_HLEN_MASK);
		address = cursor_peek(&hop, sizeof(*address));
		if (!address) /* impossible, because `words` was checked; the verifier needs it */
			return REDIRECT_DROP_BAD_LENGTH;
		outer->next_hop = *address;
	}
	return OUTER_GUE;
}

/* Moves the cursor to the inner packet of a GUE packet to UDP port `port`. Returns an enum outer_result. */
static __always_inline int outer_parse(struct cursor *cursor, struct outer *outer, __u16 port)
{
	int result;

	if (ethernet_take(cursor, &outer->tags) != bpf_htons(ETH_P_IP))
		return OUTER_NOT_GUE;
	result = outer_ip_udp(cursor, outer, port);
	if (result == OUTER_GUE)
		result = outer_gue(cursor, outer);
	return result;
}
