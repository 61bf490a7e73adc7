/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Changes a packet: addresses it to its next hop, or removes the outer headers. */
#pragma once

#include "bpf/ethernet.bpf.h"
#include "redirect/bpf/decide.bpf.h"
#include "redirect/bpf/outer.bpf.h"
#include "redirect/bpf/route.bpf.h"

#define ECN_MASK    3
#define ECN_NOT_ECT 0
#define ECN_ECT_1   1
#define ECN_ECT_0   2
#define ECN_CE      3

/* Returns the checksum after a 16-bit word changed from `old` to `new` (RFC 1624, equation 3). */
static __always_inline __u16 checksum_replace(__u16 checksum, __u16 old, __u16 new)
{
	__u32 sum = (__u16)~checksum + (__u16)~old + new;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __always_inline __u16 checksum_replace_address(__u16 checksum, __be32 old, __be32 new)
{
	checksum = checksum_replace(checksum, old & 0xffff, new & 0xffff);
	return checksum_replace(checksum, old >> 16, new >> 16);
}

static __always_inline void swap_mac_addresses(struct ethhdr *ethernet)
{
	__u8 destination[ETH_ALEN];

	__builtin_memcpy(destination, ethernet->h_dest, ETH_ALEN);
	__builtin_memcpy(ethernet->h_dest, ethernet->h_source, ETH_ALEN);
	__builtin_memcpy(ethernet->h_source, destination, ETH_ALEN);
}

/*
 * Addresses the packet to its next hop. The caller checked that there is one and that TTL > 1. The old
 * destination becomes the source, so both checksums change by the old source and the new destination only.
 */
static __always_inline void rewrite_to_next_hop(struct outer *outer)
{
	struct iphdr *ip = outer->ip;
	struct udphdr *udp = outer->udp;
	struct gue_private *private_data = outer->private_data;
	__be32 old_source = ip->saddr, hop = outer->next_hop;
	__be16 old_ttl_word, old_index_word, ttl_word, index_word;
	__u8 index = private_data->next_hop + !outer->returns;

	old_ttl_word = bpf_htons(ip->ttl << 8 | ip->protocol);
	ttl_word = bpf_htons((ip->ttl - 1) << 8 | ip->protocol);
	old_index_word = bpf_htons(private_data->next_hop << 8 | private_data->hop_count);
	index_word = bpf_htons(index << 8 | private_data->hop_count);

	ip->saddr = ip->daddr;
	ip->daddr = hop;
	ip->ttl--;
	ip->check = checksum_replace_address(ip->check, old_source, hop);
	ip->check = checksum_replace(ip->check, old_ttl_word, ttl_word);
	private_data->next_hop = index;
	if (udp->check) { /* 0: no checksum */
		udp->check = checksum_replace_address(udp->check, old_source, hop);
		udp->check = checksum_replace(udp->check, old_index_word, index_word);
		if (!udp->check)
			udp->check = 0xffff;
	}
}

/*
 * Addresses the frame of a packet whose new destination is its next hop. With REDIRECT_FORWARD_FIB, to the
 * neighbour that the kernel's route names, if there is one on this interface. Otherwise to the sender of
 * the frame, which is the router that delivered the packet. Returns the counter.
 */
static __always_inline int address_frame(struct xdp_md *context, const struct outer *outer)
{
	struct cursor cursor = cursor_of(context);
	struct ethhdr *ethernet = cursor_peek(&cursor, sizeof(*ethernet)), addresses;
	struct bpf_fib_lookup route = {
		.family = AF_INET,
		.tos = outer->ip->tos,
		.l4_protocol = IPPROTO_UDP,
		.sport = outer->udp->source,
		.dport = outer->udp->dest,
		.ipv4_src = outer->ip->saddr,
		.ipv4_dst = outer->ip->daddr,
	};

	if (!ethernet) /* impossible, because it was parsed; the verifier needs it */
		return REDIRECT_DROP_TRUNCATED;
	if (settings.forward == REDIRECT_FORWARD_FIB && route_find(context, &route, outer->tags, &addresses)) {
		__builtin_memcpy(ethernet, &addresses, 2 * ETH_ALEN);
		return REDIRECT_FORWARDED_BY_ROUTE;
	}
	swap_mac_addresses(ethernet);
	return REDIRECT_FORWARDED_TO_ALTERNATE;
}

static __always_inline __u8 inner_ecn(void *ip, bool ipv6)
{
	__u8 *bytes = ip;

	return ipv6 ? bytes[1] >> 4 & ECN_MASK : bytes[1] & ECN_MASK;
}

static __always_inline void set_inner_ecn(void *ip, bool ipv6, __u8 ecn)
{
	struct iphdr *ipv4 = ip;
	__u8 *bytes = ip, tos = ipv4->tos;

	if (ipv6) {
		bytes[1] = (bytes[1] & ~(ECN_MASK << 4)) | ecn << 4;
		return;
	}
	ipv4->tos = (tos & ~ECN_MASK) | ecn;
	ipv4->check = checksum_replace(ipv4->check, bpf_htons(bytes[0] << 8 | tos), bpf_htons(bytes[0] << 8 | ipv4->tos));
}

/*
 * Copies the outer congestion mark to the inner IP header, by the table of RFC 6040 section 4.2.
 * Returns false if the packet must be dropped.
 */
static __always_inline bool propagate_ecn(__u8 outer_tos, void *inner_ip, bool ipv6)
{
	__u8 outer = outer_tos & ECN_MASK, inner = inner_ecn(inner_ip, ipv6);

	if (inner == ECN_NOT_ECT)
		return outer != ECN_CE;
	if (outer == ECN_CE || (outer == ECN_ECT_1 && inner == ECN_ECT_0))
		set_inner_ecn(inner_ip, ipv6, outer);
	return true;
}

/* A copy of the Ethernet header and its VLAN tags, without the last Ethernet type. */
struct link_header {
	__u8 addresses[2 * ETH_ALEN];
	__be16 tags[ETHERNET_MAX_TAGS][2]; /* Ethernet type of the tag, tag control information */
};

/* Copies `size` bytes at the cursor to `saved`, or back. `size` must be a compile-time constant. */
static __always_inline bool copy_bytes(struct cursor *cursor, void *saved, __u32 size, bool back)
{
	void *bytes = cursor_take(cursor, size);

	if (bytes)
		__builtin_memcpy(back ? bytes : saved, back ? saved : bytes, size);
	return bytes;
}

static __always_inline bool link_header_copy(struct cursor *cursor, __u32 tags, struct link_header *link, bool back)
{
	if (!copy_bytes(cursor, link->addresses, sizeof(link->addresses), back))
		return false;
	for (int i = 0; i < ETHERNET_MAX_TAGS; i++) {
		if (i >= tags)
			break;
		if (!copy_bytes(cursor, link->tags[i], sizeof(link->tags[i]), back))
			return false;
	}
	return true;
}

/*
 * Removes the `size` bytes between the link header and the inner packet, and sets the Ethernet type.
 * Returns false if the kernel refuses. Pointers into the packet are invalid afterwards.
 */
static __always_inline bool strip(struct xdp_md *context, __u32 tags, __u32 size, bool ipv6)
{
	__be16 type = ipv6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	struct cursor cursor = cursor_of(context);
	struct link_header link;

	if (!link_header_copy(&cursor, tags, &link, false) || bpf_xdp_adjust_head(context, size) != 0)
		return false;
	cursor = cursor_of(context);
	return link_header_copy(&cursor, tags, &link, true) && copy_bytes(&cursor, &type, sizeof(type), true);
}
