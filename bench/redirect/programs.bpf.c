/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * XDP programs that bench/redirect/cost.py runs with BPF_PROG_TEST_RUN: glb-redirect behind a program that gives it the same
 * frame each time, and programs that only call a helper of the kernel, to compare with.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <stdbool.h>
#include <stddef.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "redirect/redirect.h"

#define SAVED      256 /* bytes: more than any outer header and the headers behind it */
#define KEYS       3
#define CSUM_CHUNK 512 /* bytes: the most that bpf_csum_diff() takes */
#define CSUM_MOST  4 /* chunks */
#define MARK_SIZE  8 /* bytes that glb-redirect puts into the metadata of a packet */

/* cost.py sets this before it runs a program. */
struct wanted {
	__u32 size; /* bytes of the frame */
	__u32 saved; /* its first bytes, a multiple of 8, which a program may have changed or removed */
	__u32 senders; /* a power of 2: the outer sources take turns; 0: the outer source stays */
	__u32 next_sender;
	__u32 outer; /* bytes of the outer headers */
	__u32 tuple_size;
	__u32 csum_size; /* of the inner transport header and payload; a multiple of 4 */
	__u32 key_count;
	struct bpf_sock_tuple tuple;
	struct redirect_prefix keys[KEYS];
	struct bpf_fib_lookup route;
	__u64 frame[SAVED / 8];
	__u8 summed[CSUM_CHUNK];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wanted);
} wanted_map SEC(".maps");

/* The program that `again` runs. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

/* bpftool replaces it by the map of glb-redirect. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, REDIRECT_MAX_PREFIXES);
	__type(key, struct redirect_prefix);
	__type(value, __u32);
} lists SEC(".maps");

static __always_inline struct wanted *wanted_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&wanted_map, &zero);
}

/* Writes only what differs: the program that follows reads most headers from the cache, not from a store that has just begun. */
static __always_inline void restore_headers(struct xdp_md *context, const struct wanted *wanted)
{
	__u8 *at = (void *)(long)context->data, *end = (void *)(long)context->data_end;

#pragma unroll
	for (__u32 word = 0; word < SAVED / 8; word++) {
		__u64 *there = (void *)(at + 8 * word);

		if (8 * word >= wanted->saved || (__u8 *)(there + 1) > end)
			return;
		if (*there != wanted->frame[word])
			*there = wanted->frame[word];
	}
}

/* Gives an IPv4 packet one of 10.1.0.0/16 as its source. */
static __always_inline void take_turns(struct xdp_md *context, struct wanted *wanted)
{
	__be32 *source = (void *)(long)context->data + sizeof(struct ethhdr) + offsetof(struct iphdr, saddr);

	if (!wanted->senders || (void *)(source + 1) > (void *)(long)context->data_end)
		return;
	*source = bpf_htonl(0x0a010000 | (wanted->next_sender++ & (wanted->senders - 1)));
}

/* Makes the frame what it was before the last run, and runs `target`. */
SEC(SECTION)
int again(struct xdp_md *context)
{
	struct wanted *wanted = wanted_get();

	if (!wanted)
		return XDP_ABORTED;
	if (context->data != context->data_meta)
		bpf_xdp_adjust_meta(context, (int)(context->data - context->data_meta));
	if (bpf_xdp_adjust_head(context, (int)(context->data_end - context->data - wanted->size)))
		return XDP_ABORTED;
	restore_headers(context, wanted);
	take_turns(context, wanted);
	bpf_tail_call(context, &target, 0);
	return XDP_ABORTED;
}

SEC(SECTION)
int nothing(struct xdp_md *context)
{
	(void)context;
	return XDP_PASS;
}

SEC(SECTION)
int tcp(struct xdp_md *context)
{
	struct wanted *wanted = wanted_get();
	struct bpf_sock *socket;

	if (!wanted)
		return XDP_ABORTED;
	socket =
		wanted->tuple_size == sizeof(wanted->tuple.ipv4)
			? bpf_skc_lookup_tcp(context, &wanted->tuple, sizeof(wanted->tuple.ipv4), BPF_F_CURRENT_NETNS, 0)
			: bpf_skc_lookup_tcp(context, &wanted->tuple, sizeof(wanted->tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
	if (!socket)
		return XDP_DROP;
	bpf_sk_release(socket);
	return XDP_PASS;
}

SEC(SECTION)
int udp(struct xdp_md *context)
{
	struct wanted *wanted = wanted_get();
	struct bpf_sock *socket;

	if (!wanted)
		return XDP_ABORTED;
	socket = wanted->tuple_size == sizeof(wanted->tuple.ipv4)
			 ? bpf_sk_lookup_udp(context, &wanted->tuple, sizeof(wanted->tuple.ipv4), BPF_F_CURRENT_NETNS, 0)
			 : bpf_sk_lookup_udp(context, &wanted->tuple, sizeof(wanted->tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
	if (!socket)
		return XDP_DROP;
	bpf_sk_release(socket);
	return XDP_PASS;
}

SEC(SECTION)
int route(struct xdp_md *context)
{
	struct wanted *wanted = wanted_get();
	struct bpf_fib_lookup query;

	if (!wanted)
		return XDP_ABORTED;
	query = wanted->route;
	return bpf_fib_lookup(context, &query, sizeof(query), 0) == BPF_FIB_LKUP_RET_SUCCESS ? XDP_PASS : XDP_DROP;
}

/* As many lookups of prefixes as glb-redirect needs. XDP_PASS: all were found. */
SEC(SECTION)
int prefixes(struct xdp_md *context)
{
	struct wanted *wanted = wanted_get();
	bool found = true;

	(void)context;
	if (!wanted)
		return XDP_ABORTED;
#pragma unroll
	for (__u32 i = 0; i < KEYS; i++)
		if (i < wanted->key_count)
			found &= !!bpf_map_lookup_elem(&lists, &wanted->keys[i]);
	return found ? XDP_PASS : XDP_DROP;
}

/* The kernel's own sum of as many bytes as the inner transport header and payload. */
SEC(SECTION)
int checksum(struct xdp_md *context)
{
	struct wanted *wanted = wanted_get();
	__s64 sum = 0;
	__u32 left;

	(void)context;
	if (!wanted)
		return XDP_ABORTED;
	left = wanted->csum_size;
	for (int i = 0; i < CSUM_MOST; i++) {
		if (left < CSUM_CHUNK)
			break;
		sum = bpf_csum_diff(NULL, 0, (void *)wanted->summed, CSUM_CHUNK, sum);
		left -= CSUM_CHUNK;
	}
	sum = bpf_csum_diff(NULL, 0, (void *)wanted->summed, left & (CSUM_CHUNK - 4), sum);
	return sum < 0 ? XDP_ABORTED : XDP_PASS;
}

/* Removes the outer headers without a look at them. */
SEC(SECTION)
int strip(struct xdp_md *context)
{
	struct wanted *wanted = wanted_get();

	return !wanted || bpf_xdp_adjust_head(context, (int)wanted->outer) ? XDP_ABORTED : XDP_PASS;
}

/* Puts the mark of glb-redirect before the packet. */
SEC(SECTION)
int mark(struct xdp_md *context)
{
	__u32 *unique;

	if (bpf_xdp_adjust_meta(context, -MARK_SIZE))
		return XDP_ABORTED;
	unique = (void *)(long)context->data_meta;
	if ((void *)(unique + 1) > (void *)(long)context->data)
		return XDP_ABORTED;
	*unique = bpf_get_prandom_u32();
	return XDP_PASS;
}

/* The kernel offers bpf_skc_lookup_tcp only to programs under the GPL. */
char _license[] SEC("license") = "Dual BSD/GPL";
