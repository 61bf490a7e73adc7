/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Frames in several buffers (XDP fragments), which is how drivers receive frames larger than a page. The program reads
 * and changes only headers, and the kernel lets it do that in the first buffer. veth and most drivers fill the first
 * buffer with more than any headers that the program parses. mlx5 with a striding receive queue can leave it empty.
 *
 * The helpers bpf_xdp_get_buff_len and bpf_xdp_load_bytes came with Linux 5.18. Before, settings.frags is 0, and the
 * verifier removes their calls with the other dead code.
 */
#pragma once

#include "bpf/cursor.bpf.h"
#include "redirect/bpf/decide.bpf.h"
#include "redirect/bpf/outer.bpf.h"

#define FRAGS_ENOUGH 256 /* bytes; a first buffer of this size has all headers of an ordinary packet */

/* A cursor at the start of the frame. Its end is the end of the last buffer; cursor_peek() reads only the first one. */
static __always_inline struct cursor frame_cursor(struct xdp_md *context)
{
	struct cursor cursor = cursor_of(context);

	if (settings.frags)
		cursor.end = bpf_xdp_get_buff_len(context);
	return cursor;
}

/* The headers of a GUE packet without VLAN tags and IP options, behind the Ethernet header. */
union plain_outer {
	struct {
		struct iphdr ip;
		struct udphdr udp;
	} ipv4;
	struct {
		struct ipv6hdr ip;
		struct udphdr udp;
	} ipv6;
};

/* Returns whether the frame, whose headers may not be in the first buffer, is a GUE packet. A global function has a
 * stack of its own. */
__noinline int split_is_gue(struct xdp_md *context)
{
	union plain_outer outer;
	__be16 type;

	if (!settings.frags || bpf_xdp_load_bytes(context, 2 * ETH_ALEN, &type, sizeof(type)) != 0)
		return false;
	if (type == bpf_htons(ETH_P_IP))
		return bpf_xdp_load_bytes(context, sizeof(struct ethhdr), &outer.ipv4, sizeof(outer.ipv4)) == 0 &&
		       outer.ipv4.ip.version == 4 && outer.ipv4.ip.ihl == 5 && outer.ipv4.ip.protocol == IPPROTO_UDP &&
		       !(outer.ipv4.ip.frag_off & bpf_htons(OUTER_FRAGMENT)) &&
		       outer.ipv4.udp.dest == bpf_htons(settings.port);
	return type == bpf_htons(ETH_P_IPV6) &&
	       bpf_xdp_load_bytes(context, sizeof(struct ethhdr), &outer.ipv6, sizeof(outer.ipv6)) == 0 &&
	       outer.ipv6.ip.version == 6 && outer.ipv6.ip.nexthdr == IPPROTO_UDP &&
	       outer.ipv6.udp.dest == bpf_htons(settings.port);
}

/* Returns whether the frame is a GUE packet whose headers may not be in the first buffer. */
static __always_inline bool is_split_gue(struct xdp_md *context)
{
	__u64 first = cursor_of(context).end;

	return settings.frags && first < FRAGS_ENOUGH && bpf_xdp_get_buff_len(context) > first && split_is_gue(context);
}
