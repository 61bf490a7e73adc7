/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Makes sure that somebody verifies the transport checksum of an inner packet.
 *
 * A card, or GRO before this program, may have verified the outer UDP checksum, which is usually 0 and thus right. The
 * kernel remembers "one checksum is right", and XDP can neither see nor change that. When the outer headers are gone,
 * the kernel would take it for the checksum of the inner packet. So the program verifies the inner checksum itself, or
 * it marks the packet, and the tc program checksum_reset() tells the kernel that nothing is known about a marked
 * packet.
 *
 * The mark is in the packet's XDP metadata. Every mark is different, because GRO runs between the two programs: it
 * merges only packets with equal metadata, and after a merge the kernel verifies no checksum.
 *
 * The helper bpf_csum_level came with Linux 5.8, bpf_xdp_adjust_meta with 4.15.
 */
#pragma once

#include <linux/in.h>
#include <linux/udp.h>

#include "redirect/bpf/inner.bpf.h"

enum checksum {
	CHECKSUM_RIGHT, /* also a UDP checksum of 0 in IPv4 */
	CHECKSUM_WRONG, /* also right but not computed yet, on a virtual link */
	CHECKSUM_UNKNOWN, /* of a fragment, another protocol, or a packet that XDP sees only partly */
};

#define CHECKSUM_BLOCK  64 /* bytes */
#define CHECKSUM_BLOCKS 64 /* the frames of drivers that support native XDP in one piece are shorter than a page */

#define MARK_MAGIC 0x6d424c47 /* "GLBm" */

struct mark {
	__u32 magic, unique;
};

/* Set if the driver does not support XDP metadata. checksum_reset() then treats all packets as marked. */
__u32 marks_are_refused SEC(".data.marks") = 0;

static __always_inline __u32 checksum_fold(__u64 sum)
{
#pragma unroll
	for (int i = 0; i < 4; i++)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/*
 * Both return the sum of the 16-bit words in the frame's bytes from offset `at` to `end`, in the order of memory,
 * folded to 16 bits. They return -1 if the program does not see all of these bytes. Global functions, so that the
 * verifier looks at each loop once, and not again for every way to reach it.
 */
__noinline int checksum_blocks(struct xdp_md *context, __u32 at, __u32 end)
{
	struct cursor cursor = cursor_within(context, at, end);
	__u64 even = 0, odd = 0;

	for (int i = 0; i < CHECKSUM_BLOCKS; i++) {
		__u32 *words = cursor_take(&cursor, CHECKSUM_BLOCK);

		if (!words)
			break;
#pragma unroll
		for (int word = 0; word < CHECKSUM_BLOCK / 4; word += 2) {
			even += words[word];
			odd += words[word + 1];
		}
	}
	return cursor.at == cursor.end ? (int)checksum_fold(even + odd) : -1;
}

/* For less than a block. */
__noinline int checksum_tail(struct xdp_md *context, __u32 at, __u32 end)
{
	struct cursor cursor = cursor_within(context, at, end);
	__u64 sum = 0;
	__u16 *half;
	__u8 *byte;

	for (int i = 0; i < CHECKSUM_BLOCK / 4; i++) {
		__u32 *word = cursor_take(&cursor, sizeof(*word));

		if (!word)
			break;
		sum += *word;
	}
	half = cursor_take(&cursor, sizeof(*half));
	sum += half ? *half : 0;
	byte = cursor_take(&cursor, sizeof(*byte));
	sum += byte ? bpf_htons(*byte << 8) : 0;
	return cursor.at == cursor.end ? (int)checksum_fold(sum) : -1;
}

/* Returns the sum of the bytes from the cursor to its end, as above. */
static __always_inline int checksum_sum(struct xdp_md *context, const struct cursor *cursor)
{
	__u32 size = cursor->end - cursor->at, middle = cursor->end - size % CHECKSUM_BLOCK;
	int blocks = checksum_blocks(context, cursor->at, middle), tail = checksum_tail(context, middle, cursor->end);

	return blocks < 0 || tail < 0 ? -1 : blocks + tail;
}

static __always_inline __u64 checksum_pseudo_header(const struct inner *inner, bool ipv6, __u32 length)
{
	__u64 sum = bpf_htons(inner->protocol) + bpf_htons(length);

	if (!ipv6)
		return sum + inner->flow.ipv4.saddr + inner->flow.ipv4.daddr;
#pragma unroll
	for (int i = 0; i < 4; i++)
		sum += (__u64)inner->flow.ipv6.saddr[i] + inner->flow.ipv6.daddr[i];
	return sum;
}

/* True if the UDP length is that of the packet. *right: there is no checksum that could be wrong. */
static __always_inline bool checksum_applies_to_udp(struct cursor *cursor, bool ipv6, __u32 length, bool *right)
{
	struct udphdr *udp = cursor_peek(cursor, sizeof(*udp));

	if (!udp || bpf_ntohs(udp->len) != length)
		return false;
	*right = !ipv6 && !udp->check;
	return true;
}

static __always_inline int checksum_verify(struct xdp_md *context, struct cursor *cursor, bool ipv6)
{
	struct inner inner = {0};
	bool right = false;
	__u32 length;
	int sum;

	if (inner_parse(cursor, &inner, ipv6, false) != INNER_OK || inner.is_partial ||
		cursor->end != context->data_end - context->data)
		return CHECKSUM_UNKNOWN;
	length = cursor->end - cursor->at;
	if (inner.protocol == IPPROTO_UDP) {
		if (!checksum_applies_to_udp(cursor, ipv6, length, &right))
			return CHECKSUM_UNKNOWN;
		if (right)
			return CHECKSUM_RIGHT;
	} else if (inner.protocol != IPPROTO_TCP) {
		return CHECKSUM_UNKNOWN;
	}
	sum = checksum_sum(context, cursor);
	if (sum < 0)
		return CHECKSUM_UNKNOWN;
	if (checksum_fold(checksum_pseudo_header(&inner, ipv6, length) + sum) != 0xffff)
		return CHECKSUM_WRONG;
	return CHECKSUM_RIGHT;
}

/* The inner packet occupies offsets `at` to `end` of the frame. Returns an enum checksum. Global, as decide_quote(). */
__noinline int checksum_of_inner(struct xdp_md *context, __u32 at, __u32 end, __u32 ipv6)
{
	struct cursor cursor = cursor_within(context, at, end);

	if (ipv6)
		return checksum_verify(context, &cursor, true);
	return checksum_verify(context, &cursor, false);
}

/* Returns false if the driver does not support XDP metadata. Pointers into the packet are invalid afterwards. */
static __always_inline bool checksum_mark(struct xdp_md *context)
{
	struct mark *mark;

	if (bpf_xdp_adjust_meta(context, -(int)sizeof(*mark)) != 0)
		return false;
	mark = (void *)(long)context->data_meta;
	if ((void *)(mark + 1) > (void *)(long)context->data)
		return false;
	*mark = (struct mark){.magic = MARK_MAGIC, .unique = bpf_get_prandom_u32()};
	return true;
}

/* Makes the kernel verify the packet's checksum, or the program drop it. Returns the final counter: `outcome` or a
 * drop. */
static __always_inline int checksum_hand_over(struct xdp_md *context, int checksum, int outcome)
{
	if (checksum == CHECKSUM_RIGHT || checksum_mark(context))
		return outcome;
	if (checksum == CHECKSUM_WRONG)
		return REDIRECT_DROP_INNER_CHECKSUM;
	if (!marks_are_refused) /* a write for every packet would be slow */
		marks_are_refused = 1;
	return outcome;
}

/* For tc ingress. */
static __always_inline void checksum_reset(struct __sk_buff *packet)
{
	struct mark *mark = (void *)(long)packet->data_meta;
	bool is_marked = (void *)(mark + 1) <= (void *)(long)packet->data && mark->magic == MARK_MAGIC;
	__u8 byte;

	if (!is_marked && !marks_are_refused)
		return;
	bpf_csum_level(packet, BPF_CSUM_LEVEL_RESET);
	/* Writing a byte anew also makes the kernel forget a checksum that it had yet to compute, if that starts before
	 * this byte. */
	if (bpf_skb_load_bytes(packet, 0, &byte, sizeof(byte)) == 0)
		bpf_skb_store_bytes(packet, 0, &byte, sizeof(byte), BPF_F_RECOMPUTE_CSUM);
}
