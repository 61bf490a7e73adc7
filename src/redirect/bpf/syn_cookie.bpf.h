/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Sends SYN cookies during a SYN flood. When a listener's queue of half-open connections is full, the
 * kernel replies to each SYN with a cookie and stores nothing. This code sends that reply instead of
 * the kernel, before the kernel has spent time on the packet. The kernel still decides when a cookie
 * is due, and computes it. decide.bpf.h recognizes the client's ACK.
 *
 * The helper bpf_tcp_gen_syncookie came with Linux 5.3, bpf_xdp_adjust_tail with 4.18.
 *
 * These cookies carry only the MSS. The kernel's own also carry window scaling and SACK, which they
 * hide in the TCP timestamp, but the kernel does not offer that to eBPF.
 */
#pragma once

#include "bpf/ethernet.bpf.h"
#include "redirect/bpf/decide.bpf.h"
#include "redirect/bpf/frags.bpf.h"
#include "redirect/bpf/route.bpf.h"

#define TCP_OPTION_MSS       2
#define SYN_ACK_TTL          64
#define SYN_ACK_WINDOW       29200 /* bytes, two initial windows; the kernel's ACKs raise it later */
#define IPV4_DONT_FRAGMENT   0x4000
#define ETHERNET_MIN         60 /* bytes without FCS; the program pads, because not every driver does */
#define ETHERNET_MAX_PADDING 2 /* the shortest SYN-ACK, IPv4 without tags, is a frame of 58 bytes */

struct syn_ack {
	struct tcphdr tcp;
	/* The only TCP option, the MSS. */
	__u8 option, option_size;
	__be16 mss;
};

struct syn_ack_ipv4 {
	struct iphdr ip;
	struct syn_ack segment;
};

struct syn_ack_ipv6 {
	struct ipv6hdr ip;
	struct syn_ack segment;
};

/* A copy of the SYN's TCP header with all its options, which bpf_tcp_gen_syncookie needs in one piece. */
struct syn_header {
	struct tcphdr tcp;
	__be32 options[15]; /* TCP has 10 at most; 15 so that the mask 60 bounds their size in bytes */
};

/* Returns the number of bytes of TCP options, or -1 if the packet is too short. */
static __always_inline int copy_syn(struct cursor *cursor, struct syn_header *syn)
{
	struct tcphdr *tcp = cursor_take(cursor, sizeof(*tcp));
	int words;

	if (!tcp || tcp->doff < sizeof(*tcp) / 4)
		return -1;
	syn->tcp = *tcp;
	words = tcp->doff - sizeof(*tcp) / 4;
#pragma unroll
	for (int i = 0; i < 10; i++) {
		__be32 *option = i < words ? cursor_take(cursor, sizeof(*option)) : NULL;

		if (option)
			syn->options[i] = *option;
		else if (i < words)
			return -1;
	}
	return 4 * words;
}

/*
 * Returns the cookie in the low 32 bits and the MSS that it carries above these, or a negative number
 * if no cookie is due. options_size: bytes of options in *syn.
 */
static __always_inline __s64 cookie_for(
	struct xdp_md *context, struct inner *inner, bool ipv6, struct syn_header *syn, __u64 options_size)
{
	__u64 size = options_size;
	struct bpf_sock *socket = bpf_skc_lookup_tcp(context, &inner->flow, flow_size(ipv6), BPF_F_CURRENT_NETNS, 0);
	__s64 cookie = -1;

	if (!socket)
		return -1;
	if (socket->state == BPF_TCP_LISTEN) {
		/* Directly before the call, because Linux 5.10 forgets the bounds of values on the stack. */
		asm volatile("%0 &= 60" : "+r"(size));
		size += sizeof(syn->tcp);
		if (ipv6)
			cookie = bpf_tcp_gen_syncookie(socket, inner->ip, sizeof(struct ipv6hdr), &syn->tcp, size);
		else
			cookie = bpf_tcp_gen_syncookie(socket, inner->ip, sizeof(struct iphdr), &syn->tcp, size);
	}
	bpf_sk_release(socket);
	return cookie;
}

/* Sets the MAC addresses of *ethernet for the host's route to the client. See route_find(). */
static __always_inline bool find_route_back(
	struct xdp_md *context, const struct inner *inner, bool ipv6, __u32 tags, struct ethhdr *ethernet)
{
	struct bpf_fib_lookup route = {
		.family = ipv6 ? AF_INET6 : AF_INET,
		.l4_protocol = IPPROTO_TCP,
	};

	if (ipv6) {
		__builtin_memcpy(route.ipv6_src, inner->flow.ipv6.daddr, 16);
		__builtin_memcpy(route.ipv6_dst, inner->flow.ipv6.saddr, 16);
		route.sport = inner->flow.ipv6.dport;
		route.dport = inner->flow.ipv6.sport;
	} else {
		route.ipv4_src = inner->flow.ipv4.daddr;
		route.ipv4_dst = inner->flow.ipv4.saddr;
		route.sport = inner->flow.ipv4.dport;
		route.dport = inner->flow.ipv4.sport;
	}
	return route_find(context, &route, tags, ethernet);
}

/* Returns the Internet checksum of `bytes`. pseudo_header: the sum of what is not among them. */
static __always_inline __u16 checksum_of(const void *bytes, __u32 size, __u32 pseudo_header)
{
	__u64 sum = bpf_csum_diff(NULL, 0, (void *)bytes, size, pseudo_header);

	sum = (sum & 0xffff) + (sum >> 16 & 0xffff);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __always_inline void fill_segment(
	struct syn_ack *segment, const struct tcphdr *syn, __s64 cookie, __u32 largest_mss)
{
	__u32 mss = cookie >> 32;

	segment->tcp = (struct tcphdr){
		.source = syn->dest,
		.dest = syn->source,
		.seq = bpf_htonl((__u32)cookie),
		.ack_seq = bpf_htonl(bpf_ntohl(syn->seq) + 1),
		.doff = sizeof(*segment) / 4,
		.syn = 1,
		.ack = 1,
		.window = bpf_htons(SYN_ACK_WINDOW),
	};
	segment->option = TCP_OPTION_MSS;
	segment->option_size = 4;
	segment->mss = bpf_htons(mss < largest_mss ? mss : largest_mss);
}

/* In both families the IP header ends with the addresses, so one sum covers these and the TCP segment. */
#define SEGMENT_CHECKSUM(reply)                                                                 \
	checksum_of(&(reply)->ip.saddr, 2 * sizeof((reply)->ip.saddr) + sizeof(struct syn_ack), \
		bpf_htons(IPPROTO_TCP) + bpf_htons(sizeof(struct syn_ack)))

static __always_inline void fill_ipv4(struct syn_ack_ipv4 *reply, const struct inner *inner)
{
	reply->ip = (struct iphdr){
		.version = 4,
		.ihl = sizeof(reply->ip) / 4,
		.tot_len = bpf_htons(sizeof(*reply)),
		.frag_off = bpf_htons(IPV4_DONT_FRAGMENT),
		.ttl = SYN_ACK_TTL,
		.protocol = IPPROTO_TCP,
		.saddr = inner->flow.ipv4.daddr,
		.daddr = inner->flow.ipv4.saddr,
	};
	reply->ip.check = checksum_of(&reply->ip, sizeof(reply->ip), 0);
	reply->segment.tcp.check = SEGMENT_CHECKSUM(reply);
}

static __always_inline void fill_ipv6(struct syn_ack_ipv6 *reply, const struct inner *inner)
{
	reply->ip = (struct ipv6hdr){
		.version = 6,
		.payload_len = bpf_htons(sizeof(reply->segment)),
		.nexthdr = IPPROTO_TCP,
		.hop_limit = SYN_ACK_TTL,
	};
	__builtin_memcpy(&reply->ip.saddr, inner->flow.ipv6.daddr, 16);
	__builtin_memcpy(&reply->ip.daddr, inner->flow.ipv6.saddr, 16);
	reply->segment.tcp.check = SEGMENT_CHECKSUM(reply);
}

/*
 * Replaces the frame by one with the MAC addresses and type in *ethernet, the received VLAN tags and
 * the IP packet `packet`. Returns false if the kernel refuses. Pointers into the frame are invalid
 * afterwards.
 */
static __always_inline bool replace_frame(
	struct xdp_md *context, __u32 tags, const struct ethhdr *ethernet, const void *packet, __u32 size)
{
	struct cursor cursor = frame_cursor(context);
	__u32 frame_size = sizeof(*ethernet) + sizeof(struct vlan_tag) * tags + size;
	__u64 received = cursor.end;
	__u8 *addresses, *bytes;
	__be16 *type;

	/* Hides the size from the optimizer, which would otherwise do arithmetic on packet pointers. */
	asm volatile("" : "+r"(received));
	if (frame_size < ETHERNET_MIN)
		frame_size = ETHERNET_MIN;
	if (bpf_xdp_adjust_tail(context, (int)frame_size - (int)received) != 0)
		return false;
	cursor = cursor_of(context);
	addresses = cursor_take(&cursor, 2 * ETH_ALEN);
	if (!addresses)
		return false;
	__builtin_memcpy(addresses, ethernet, 2 * ETH_ALEN);
	if (!cursor_skip(&cursor, sizeof(struct vlan_tag) * tags))
		return false;
	type = cursor_take(&cursor, sizeof(*type));
	if (!type)
		return false;
	*type = ethernet->h_proto;
	bytes = cursor_take(&cursor, size);
	if (!bytes)
		return false;
	__builtin_memcpy(bytes, packet, size);
	bytes = cursor_take(&cursor, ETHERNET_MAX_PADDING);
	if (bytes)
		__builtin_memset(bytes, 0, ETHERNET_MAX_PADDING);
	return true;
}

/* See reply_to_ipv4_syn(). */
static __always_inline int reply_to_syn(struct xdp_md *context, struct cursor *cursor, __u32 tags, bool ipv6)
{
	/* Bytes of the outer IP, UDP and GUE headers. */
	__u32 overhead = cursor->at - sizeof(struct ethhdr) - sizeof(struct vlan_tag) * tags;
	__u32 largest_mss =
		settings.mtu - overhead - sizeof(struct tcphdr) - (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	struct ethhdr ethernet = {.h_proto = bpf_htons(ipv6 ? ETH_P_IPV6 : ETH_P_IP)};
	struct syn_header syn = {0};
	struct inner inner = {0};
	struct syn_ack_ipv4 ipv4_reply;
	struct syn_ack_ipv6 ipv6_reply;
	__s64 cookie;
	bool replaced;
	int size;

	if (inner_parse(cursor, &inner, ipv6, false) != INNER_OK)
		return REDIRECT_ACCEPTED_SYN;
	size = copy_syn(cursor, &syn);
	if (size < 0)
		return REDIRECT_ACCEPTED_SYN;
	inner_set_ports(&inner, ipv6, &syn.tcp.source, false);
	cookie = cookie_for(context, &inner, ipv6, &syn, size);
	if (cookie < 0 || !find_route_back(context, &inner, ipv6, tags, &ethernet))
		return REDIRECT_ACCEPTED_SYN;
	if (ipv6) {
		fill_segment(&ipv6_reply.segment, &syn.tcp, cookie, largest_mss);
		fill_ipv6(&ipv6_reply, &inner);
		replaced = replace_frame(context, tags, &ethernet, &ipv6_reply, sizeof(ipv6_reply));
	} else {
		fill_segment(&ipv4_reply.segment, &syn.tcp, cookie, largest_mss);
		fill_ipv4(&ipv4_reply, &inner);
		replaced = replace_frame(context, tags, &ethernet, &ipv4_reply, sizeof(ipv4_reply));
	}
	return replaced ? REDIRECT_SYN_COOKIE_SENT : REDIRECT_DROP_NOT_STRIPPED;
}

/*
 * Replies to an inner SYN, which occupies offsets `at` to `end` of the frame, if a cookie is due.
 * Returns REDIRECT_SYN_COOKIE_SENT if the frame is the SYN-ACK now, which the caller sends.
 * REDIRECT_ACCEPTED_SYN: the frame is unchanged, and the kernel replies. REDIRECT_DROP_NOT_STRIPPED:
 * the kernel could not resize the frame. Global functions, as decide_quote(); the
 * verifier does not accept one for both families.
 */
__noinline int reply_to_ipv4_syn(struct xdp_md *context, __u32 at, __u32 end, __u32 tags)
{
	struct cursor cursor = cursor_within(context, at, end);

	return reply_to_syn(context, &cursor, tags, false);
}

__noinline int reply_to_ipv6_syn(struct xdp_md *context, __u32 at, __u32 end, __u32 tags)
{
	struct cursor cursor = cursor_within(context, at, end);

	return reply_to_syn(context, &cursor, tags, true);
}
