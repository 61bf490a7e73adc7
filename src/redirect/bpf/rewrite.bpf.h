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

/* `size` bytes change. */
static __always_inline __u16 checksum_replace_bytes(__u16 checksum, const __u16 *old, const __u16 *new, __u32 size)
{
#pragma unroll
	for (int i = 0; i < size / 2; i++)
		checksum = checksum_replace(checksum, old[i], new[i]);
	return checksum;
}

static __always_inline void swap_mac_addresses(struct ethhdr *ethernet)
{
	__u8 destination[ETH_ALEN];

	__builtin_memcpy(destination, ethernet->h_dest, ETH_ALEN);
	__builtin_memcpy(ethernet->h_dest, ethernet->h_source, ETH_ALEN);
	__builtin_memcpy(ethernet->h_source, destination, ETH_ALEN);
}

/* The headers of a packet that is passed on. The functions below get a constant for `ipv6`, the outer family. */
struct forwarded {
	void *ip, *addresses; /* source, then destination */
	struct udphdr *udp;
	struct gue_private *private_data;
};

/*
 * Addresses the packet to `hop`. The caller checked that the TTL is > 1. The old destination becomes the source, so the
 * checksums change by the old source and the new destination only.
 * step: how many hops of the list the packet leaves behind
 */
static __always_inline void rewrite_to_hop(const struct forwarded *packet, const void *hop, __u8 step, bool ipv6)
{
	const __u32 size = ADDRESS_SIZE(ipv6);
	struct gue_private *private_data = packet->private_data;
	struct udphdr *udp = packet->udp;
	__be16 old_index_word = bpf_htons(private_data->next_hop << 8 | private_data->hop_count), index_word;

	private_data->next_hop += step;
	index_word = bpf_htons(private_data->next_hop << 8 | private_data->hop_count);
	if (udp->check) { /* 0: no checksum */
		udp->check = checksum_replace_bytes(udp->check, packet->addresses, hop, size);
		udp->check = checksum_replace(udp->check, old_index_word, index_word);
		if (!udp->check)
			udp->check = 0xffff;
	}
	if (ipv6) {
		struct ipv6hdr *ip = packet->ip;

		ip->hop_limit--;
	} else {
		struct iphdr *ip = packet->ip;
		__be16 old_ttl_word = bpf_htons(ip->ttl << 8 | ip->protocol);

		ip->ttl--;
		ip->check = checksum_replace_bytes(ip->check, packet->addresses, hop, size);
		ip->check = checksum_replace(ip->check, old_ttl_word, bpf_htons(ip->ttl << 8 | ip->protocol));
	}
	__builtin_memcpy(packet->addresses, packet->addresses + size, size);
	__builtin_memcpy(packet->addresses + size, hop, size);
}

/*
 * Addresses the frame of a packet whose new destination is its next hop. With REDIRECT_FORWARD_FIB, to the
 * neighbour that the kernel's route names, if there is one on this interface. Otherwise to the sender of
 * the frame, which is the router that delivered the packet. Returns the counter.
 */
static __always_inline int address_frame(struct xdp_md *context, const struct forwarded *packet, __u32 tags, bool ipv6)
{
	const __u32 size = ADDRESS_SIZE(ipv6);
	struct cursor cursor = cursor_of(context);
	struct ethhdr *ethernet = cursor_peek(&cursor, sizeof(*ethernet)), addresses;
	struct bpf_fib_lookup route = {
		.family = ipv6 ? AF_INET6 : AF_INET,
		.l4_protocol = IPPROTO_UDP,
		.sport = packet->udp->source,
		.dport = packet->udp->dest,
	};

	if (!ethernet) /* impossible, because it was parsed; the verifier needs it */
		return REDIRECT_DROP_TRUNCATED;
	if (ipv6)
		route.flowinfo = *(__be32 *)packet->ip & bpf_htonl(ROUTE_FLOWINFO);
	else
		route.tos = ((struct iphdr *)packet->ip)->tos;
	__builtin_memcpy(route.ipv6_src, packet->addresses, size);
	__builtin_memcpy(route.ipv6_dst, packet->addresses + size, size);
	if (settings.forward == REDIRECT_FORWARD_FIB && route_find(context, &route, tags, &addresses)) {
		__builtin_memcpy(ethernet, &addresses, 2 * ETH_ALEN);
		return REDIRECT_FORWARDED_BY_ROUTE;
	}
	swap_mac_addresses(ethernet);
	return REDIRECT_FORWARDED_TO_ALTERNATE;
}

/* Finds the headers of a packet that outer_parse() parsed. False is impossible; the verifier needs the checks. */
static __always_inline bool forwarded_find(
	struct cursor *cursor, __u32 tags, __u32 gue_at, struct forwarded *packet, bool ipv6)
{
	struct gue_header *gue;

	cursor->at = sizeof(struct ethhdr) + sizeof(struct vlan_tag) * tags;
	packet->ip = cursor_peek(cursor, ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	cursor->at = gue_at - sizeof(*packet->udp);
	packet->udp = cursor_take(cursor, sizeof(*packet->udp));
	gue = cursor_take(cursor, GUE_BASE_SIZE);
	if (!packet->ip || !packet->udp || !gue)
		return false;
	packet->addresses = packet->ip + (ipv6 ? offsetof(struct ipv6hdr, saddr) : offsetof(struct iphdr, saddr));
	packet->private_data = (void *)(gue + 1);
	return true;
}

static __always_inline int forward(struct xdp_md *context, __u32 tags, __u32 gue_at, bool returns, bool ipv6)
{
	const __u32 size = ADDRESS_SIZE(ipv6);
	struct cursor cursor = cursor_of(context);
	struct forwarded packet;
	__u32 hop[4] = {0};
	void *address;

	if (!forwarded_find(&cursor, tags, gue_at, &packet, ipv6))
		return REDIRECT_DROP_TRUNCATED;
	/* A proxy that returns a packet does not count as a hop: it leaves the index of the next hop as it is. */
	if (!returns && packet.private_data->next_hop >= settings.max_hops)
		return REDIRECT_DROP_HOPS;
	cursor.at += size * packet.private_data->next_hop;
	address = returns ? packet.addresses : cursor_peek(&cursor, size);
	if (!address)
		return REDIRECT_DROP_TRUNCATED;
	__builtin_memcpy(hop, address, size);
	if (!list_has_address(REDIRECT_LIST_NEXT_HOP, hop, ipv6))
		return REDIRECT_DROP_NEXT_HOP;
	rewrite_to_hop(&packet, hop, !returns, ipv6);
	return address_frame(context, &packet, tags, ipv6);
}

/*
 * Sends a packet whose TTL is > 1 to its next hop, or back to its sender if `returns`. The GUE header is at offset
 * `gue_at` of the frame. Returns the counter, REDIRECT_FORWARDED_TO_ALTERNATE or REDIRECT_FORWARDED_BY_ROUTE if the
 * caller sends the frame. `ipv6`: its outer header is. Global, as decide_quote().
 */
__noinline int forward_outer(struct xdp_md *context, __u32 tags, __u32 gue_at, __u32 returns, __u32 ipv6)
{
	if (ipv6)
		return forward(context, tags, gue_at, returns, true);
	return forward(context, tags, gue_at, returns, false);
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
