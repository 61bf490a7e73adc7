/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * SYN floods: once a listener's queue of half-open connections is full, the kernel answers each
 * SYN with a cookie and keeps nothing of it. This answers in its place, before the kernel has spent
 * anything on the packet. When a cookie is due, and which, is the kernel's to say; its answer to
 * the client's ACK is found by decide.bpf.h. Helpers: bpf_tcp_gen_syncookie came with Linux 5.3,
 * bpf_xdp_adjust_tail and bpf_fib_lookup with 4.18.
 *
 * Unlike the kernel's, these cookies carry nothing but the MSS: no window scaling, no SACK, as what
 * hides them in a timestamp is not offered to eBPF.
 */
#ifndef GLB_REDIRECT_SYN_COOKIE_BPF_H
#define GLB_REDIRECT_SYN_COOKIE_BPF_H

#include "bpf/ethernet.bpf.h"
#include "redirect/decide.bpf.h"

/* <sys/socket.h> would draw in the C library. */
#define AF_INET  2
#define AF_INET6 10

#define TCP_OPTION_MSS       2
#define SYN_ACK_TTL          64
#define SYN_ACK_WINDOW       29200 /* bytes; two initial flights: then the kernel's ACKs say more */
#define IPV4_DONT_FRAGMENT   0x4000
#define ETHERNET_MIN         60 /* without checksum; not every driver pads */
#define ETHERNET_MAX_PADDING 2 /* an answer without tags is 58 bytes long */

/*
 * Routes are looked up as for the host's own packets. bpf_fib_lookup refuses where the interface
 * that is asked about does not forward, so this is asked about, not the one the SYN came from.
 */
#define LOOPBACK_INDEX 1

struct syn_ack {
	struct tcphdr tcp;
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

/* A copy of the SYN's header: the helper wants as much as its length says, in one piece. */
struct syn_header {
	struct tcphdr tcp;
	__be32 options[15]; /* 10 can be; so that a mask bounds the size */
};

/* Bytes of options, or -1. */
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

/* The cookie and, above its 32 bits, the MSS that it carries; negative where none is due. */
static __always_inline __s64 cookie_for(
	struct xdp_md *context, struct inner *inner, bool ipv6, struct syn_header *syn, __u64 size)
{
	struct bpf_sock *socket = bpf_skc_lookup_tcp(context, &inner->flow, flow_size(ipv6), BPF_F_CURRENT_NETNS, 0);
	__s64 cookie = -1;

	if (!socket)
		return -1;
	if (socket->state == BPF_TCP_LISTEN) {
		/* Here, as Linux 5.10 forgets bounds of what lies on the stack. */
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

static __always_inline bool is_same_address(const __u8 *one, const __u8 *other)
{
	__u8 differences = 0;

#pragma unroll
	for (int i = 0; i < ETH_ALEN; i++)
		differences |= one[i] ^ other[i];
	return differences == 0;
}

/*
 * Fills in the MAC addresses. False where the host's own way to the client is not the one that the
 * SYN came by, or is not known without asking the neighbour. A tagged frame's way is through a VLAN
 * interface; it is the same one if the frame came from the router that the way leads to.
 */
static __always_inline bool find_way_back(
	struct xdp_md *context, const struct inner *inner, bool ipv6, __u32 tags, struct ethhdr *ethernet)
{
	struct bpf_fib_lookup way = {
		.family = ipv6 ? AF_INET6 : AF_INET,
		.l4_protocol = IPPROTO_TCP,
		.ifindex = LOOPBACK_INDEX,
	};
	struct cursor cursor = cursor_of(context);
	struct ethhdr *received = cursor_peek(&cursor, sizeof(*received));

	if (!received)
		return false;
	if (ipv6) {
		__builtin_memcpy(way.ipv6_src, inner->flow.ipv6.daddr, 16);
		__builtin_memcpy(way.ipv6_dst, inner->flow.ipv6.saddr, 16);
		way.sport = inner->flow.ipv6.dport;
		way.dport = inner->flow.ipv6.sport;
	} else {
		way.ipv4_src = inner->flow.ipv4.daddr;
		way.ipv4_dst = inner->flow.ipv4.saddr;
		way.sport = inner->flow.ipv4.dport;
		way.dport = inner->flow.ipv4.sport;
	}
	if (bpf_fib_lookup(context, &way, sizeof(way), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return false;
	__builtin_memcpy(ethernet->h_dest, way.dmac, ETH_ALEN);
	__builtin_memcpy(ethernet->h_source, way.smac, ETH_ALEN);
	if (tags)
		return is_same_address(way.dmac, received->h_source);
	return way.ifindex == context->ingress_ifindex;
}

static __always_inline __u16 checksum_of(const void *bytes, __u32 size, __u32 seed)
{
	__u64 sum = bpf_csum_diff(NULL, 0, (void *)bytes, size, seed);

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

/* In both families the addresses end the IP header, so that they lie before what they go with. */
#define SEGMENT_CHECKSUM(answer)                                                                  \
	checksum_of(&(answer)->ip.saddr, 2 * sizeof((answer)->ip.saddr) + sizeof(struct syn_ack), \
		bpf_htons(IPPROTO_TCP) + bpf_htons(sizeof(struct syn_ack)))

static __always_inline void fill_ipv4(struct syn_ack_ipv4 *answer, const struct inner *inner)
{
	answer->ip = (struct iphdr){
		.version = 4,
		.ihl = sizeof(answer->ip) / 4,
		.tot_len = bpf_htons(sizeof(*answer)),
		.frag_off = bpf_htons(IPV4_DONT_FRAGMENT),
		.ttl = SYN_ACK_TTL,
		.protocol = IPPROTO_TCP,
		.saddr = inner->flow.ipv4.daddr,
		.daddr = inner->flow.ipv4.saddr,
	};
	answer->ip.check = checksum_of(&answer->ip, sizeof(answer->ip), 0);
	answer->segment.tcp.check = SEGMENT_CHECKSUM(answer);
}

static __always_inline void fill_ipv6(struct syn_ack_ipv6 *answer, const struct inner *inner)
{
	answer->ip = (struct ipv6hdr){
		.version = 6,
		.payload_len = bpf_htons(sizeof(answer->segment)),
		.nexthdr = IPPROTO_TCP,
		.hop_limit = SYN_ACK_TTL,
	};
	__builtin_memcpy(&answer->ip.saddr, inner->flow.ipv6.daddr, 16);
	__builtin_memcpy(&answer->ip.daddr, inner->flow.ipv6.saddr, 16);
	answer->segment.tcp.check = SEGMENT_CHECKSUM(answer);
}

/* Makes the frame one with that packet, tagged as before. Pointers into it are void afterwards. */
static __always_inline bool replace_frame(
	struct xdp_md *context, __u32 tags, const struct ethhdr *ethernet, const void *packet, __u32 size)
{
	struct cursor cursor = cursor_of(context);
	__u32 frame_size = sizeof(*ethernet) + sizeof(struct vlan_tag) * tags + size;
	__u64 received = cursor.end;
	__u8 *addresses, *bytes;
	__be16 *type;

	/* Opaque to the compiler, which would add to a pointer before it makes a size of it. */
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

/* See answer_ipv4_syn(). */
static __always_inline int answer_syn(struct xdp_md *context, struct cursor *cursor, __u32 tags, bool ipv6)
{
	__u32 overhead = cursor->at - sizeof(struct ethhdr) - sizeof(struct vlan_tag) * tags;
	__u32 largest_mss =
		settings.mtu - overhead - sizeof(struct tcphdr) - (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	struct ethhdr ethernet = {.h_proto = bpf_htons(ipv6 ? ETH_P_IPV6 : ETH_P_IP)};
	struct syn_header syn = {0};
	struct inner inner = {0};
	struct syn_ack_ipv4 ipv4_answer;
	struct syn_ack_ipv6 ipv6_answer;
	__s64 cookie;
	bool sent;
	int size;

	if (inner_parse(cursor, &inner, ipv6, false) != INNER_OK)
		return REDIRECT_ACCEPTED_SYN;
	size = copy_syn(cursor, &syn);
	if (size < 0)
		return REDIRECT_ACCEPTED_SYN;
	inner_set_ports(&inner, ipv6, &syn.tcp.source, false);
	cookie = cookie_for(context, &inner, ipv6, &syn, size);
	if (cookie < 0 || !find_way_back(context, &inner, ipv6, tags, &ethernet))
		return REDIRECT_ACCEPTED_SYN;
	if (ipv6) {
		fill_segment(&ipv6_answer.segment, &syn.tcp, cookie, largest_mss);
		fill_ipv6(&ipv6_answer, &inner);
		sent = replace_frame(context, tags, &ethernet, &ipv6_answer, sizeof(ipv6_answer));
	} else {
		fill_segment(&ipv4_answer.segment, &syn.tcp, cookie, largest_mss);
		fill_ipv4(&ipv4_answer, &inner);
		sent = replace_frame(context, tags, &ethernet, &ipv4_answer, sizeof(ipv4_answer));
	}
	return sent ? REDIRECT_SYN_COOKIE_SENT : REDIRECT_DROP_NOT_STRIPPED;
}

/*
 * For a SYN, whose packet lies from `at` up to `end` in the frame. REDIRECT_SYN_COOKIE_SENT: the
 * frame is its answer now, to be sent. REDIRECT_ACCEPTED_SYN: the frame is as it was, and for the
 * kernel.
 */
__noinline int answer_ipv4_syn(struct xdp_md *context, __u32 at, __u32 end, __u32 tags)
{
	struct cursor cursor = cursor_within(context, at, end);

	return answer_syn(context, &cursor, tags, false);
}

__noinline int answer_ipv6_syn(struct xdp_md *context, __u32 at, __u32 end, __u32 tags)
{
	struct cursor cursor = cursor_within(context, at, end);

	return answer_syn(context, &cursor, tags, true);
}

#endif
