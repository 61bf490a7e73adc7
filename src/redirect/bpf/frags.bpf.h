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

/* The headers of a GUE packet without VLAN tags and IP options. */
struct plain_outer {
	struct ethhdr ethernet;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

/* Returns whether the frame is a GUE packet whose headers may not be in the first buffer. */
static __always_inline bool is_split_gue(struct xdp_md *context)
{
	struct cursor cursor = cursor_of(context);
	struct plain_outer outer;

	if (!settings.frags || cursor.end >= FRAGS_ENOUGH || bpf_xdp_get_buff_len(context) <= cursor.end)
		return false;
	if (bpf_xdp_load_bytes(context, 0, &outer, sizeof(outer)) != 0)
		return false;
	return outer.ethernet.h_proto == bpf_htons(ETH_P_IP) && outer.ip.version == 4 && outer.ip.ihl == 5 &&
	       outer.ip.protocol == IPPROTO_UDP && !(outer.ip.frag_off & bpf_htons(OUTER_FRAGMENT)) &&
	       outer.udp.dest == bpf_htons(settings.port);
}
