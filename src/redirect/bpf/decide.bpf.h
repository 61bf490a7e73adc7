/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Decides whether this host accepts the inner packet. It does if the packet opens a connection, belongs
 * to one of this host's sockets, or is of a kind that has no sockets.
 *
 * The helpers bpf_skc_lookup_tcp and bpf_tcp_check_syncookie came with Linux 5.2, bpf_sk_lookup_udp
 * with 4.20. bpf_sk_lookup_tcp does not find sockets in SYN_RECV and TIME_WAIT, so it is not used.
 * The helpers bpf_skc_to_tcp_timewait_sock and bpf_skc_to_tcp_request_sock came with 5.10, and need the kernel's BTF.
 */
#pragma once

#include <linux/tcp.h>
#include <linux/udp.h>

#include "gue/gue_wire.h"
#include "redirect/bpf/inner.bpf.h"
#include "redirect/bpf/quic.bpf.h"

/* The loader sets this, and the offsets below, before it loads the program. */
const volatile struct redirect_settings settings = {.port = GUE_PORT};

/* Not among the settings: those of a version with more members are unknown to an older glb-redirect, which then resets
 * the counters. */
const volatile struct redirect_offsets offsets SEC(".rodata.offsets") = {0};

/* <linux/icmp.h> includes headers of the C library, which BPF programs do not have. */
#define ICMP_HEADER_SIZE    8
#define ICMP_DEST_UNREACH   3
#define ICMP_TIME_EXCEEDED  11
#define ICMP_PARAMETERPROB  12
#define ICMPV6_DEST_UNREACH 1
#define ICMPV6_PARAMPROB    4 /* 2 is packet too big, 3 is time exceeded */

enum {
	DECIDE_UNKNOWN = -1, /* no socket of this host; the next hop may have one */
	/* As DECIDE_UNKNOWN, but this host has an unconnected UDP socket, which would take the packet. */
	DECIDE_UNCONNECTED = -2,
	/* UDP, also in an ICMP error: quic_decide() comes first. Only if the caller wants it (`by_cid`). */
	DECIDE_BY_CID = -3,
	/* Values >= 0 are the enum redirect_counter of the final decision. */
};

static __always_inline __u32 flow_size(bool ipv6)
{
	struct bpf_sock_tuple *flow;

	return ipv6 ? sizeof(flow->ipv6) : sizeof(flow->ipv4);
}

/* True if `tcp` has ACK, not SYN or RST, and acknowledges a SYN cookie that `listener` sent. */
static __always_inline bool is_syn_cookie(
	struct bpf_sock *listener, const struct inner *inner, bool ipv6, struct tcphdr *tcp)
{
	if (ipv6)
		return bpf_tcp_check_syncookie(listener, inner->ip, sizeof(struct ipv6hdr), tcp, sizeof(*tcp)) == 0;
	return bpf_tcp_check_syncookie(listener, inner->ip, sizeof(struct iphdr), tcp, sizeof(*tcp)) == 0;
}

/* Returns the number `offset` bytes behind the start of a kernel's socket, which must not be NULL. */
static __always_inline __u32 number_at(const void *socket, __u32 offset)
{
	return *(const __u32 *)(socket + offset);
}

/*
 * Returns false if a segment belongs to another connection of the same addresses and ports than that of `socket`.
 * Another proxy can have a newer one: the client used the port again, or its repeated SYN went there.
 *
 * A socket in TIME_WAIT (for the kernel also FIN_WAIT2 after close()) has sent all, and the client has acknowledged
 * all. A socket in SYN_RECV has sent only its SYN. So in both states all segments of the client acknowledge the same
 * number. Segments without ACK are resets, of which the kernel takes the one with the next number of the client.
 */
static __always_inline bool is_of_socket(struct bpf_sock *socket, const struct tcphdr *tcp)
{
	__u32 acknowledges, next;
	const void *of_kernel;

	if (!offsets.is_known)
		return true;
	if (socket->state == BPF_TCP_TIME_WAIT) {
		of_kernel = bpf_skc_to_tcp_timewait_sock(socket);
		if (!of_kernel)
			return true;
		acknowledges = number_at(of_kernel, offsets.time_wait_snd_nxt);
		next = number_at(of_kernel, offsets.time_wait_rcv_nxt);
	} else if (socket->state == BPF_TCP_NEW_SYN_RECV) {
		of_kernel = bpf_skc_to_tcp_request_sock(socket);
		if (!of_kernel)
			return true;
		acknowledges = number_at(of_kernel, offsets.request_snt_isn) + 1;
		next = number_at(of_kernel, offsets.request_rcv_nxt);
	} else {
		return true;
	}
	return tcp->ack ? tcp->ack_seq == bpf_htonl(acknowledges) : tcp->seq == bpf_htonl(next);
}

/* tcp: NULL for a packet that an ICMP error quotes. The kernel ignores such an error in TIME_WAIT. */
static __always_inline int decide_tcp_socket(struct xdp_md *context, struct inner *inner, bool ipv6, struct tcphdr *tcp)
{
	struct bpf_sock *socket = bpf_skc_lookup_tcp(context, &inner->flow, flow_size(ipv6), BPF_F_CURRENT_NETNS, 0);
	int decision = DECIDE_UNKNOWN;

	if (!socket)
		return DECIDE_UNKNOWN;
	if (socket->state == BPF_TCP_LISTEN) {
		if (tcp && is_syn_cookie(socket, inner, ipv6, tcp))
			decision = REDIRECT_ACCEPTED_SYN_COOKIE;
	} else if (tcp ? is_of_socket(socket, tcp) : socket->state != BPF_TCP_TIME_WAIT) {
		decision = REDIRECT_ACCEPTED_ESTABLISHED;
	}
	bpf_sk_release(socket);
	return decision;
}

static __always_inline int decide_udp_socket(struct xdp_md *context, struct inner *inner, bool ipv6)
{
	struct bpf_sock *socket = bpf_sk_lookup_udp(context, &inner->flow, flow_size(ipv6), BPF_F_CURRENT_NETNS, 0);
	int decision = DECIDE_UNCONNECTED;

	if (!socket)
		return DECIDE_UNKNOWN;
	/* connect() sets the state of a UDP socket to this TCP state. */
	if (socket->state == BPF_TCP_ESTABLISHED)
		decision = REDIRECT_ACCEPTED_ESTABLISHED;
	bpf_sk_release(socket);
	return decision;
}

static __always_inline int decide_tcp(struct xdp_md *context, struct cursor *cursor, struct inner *inner, bool ipv6)
{
	struct tcphdr *tcp = cursor_peek(cursor, sizeof(*tcp));

	if (!tcp)
		return REDIRECT_DROP_INNER_TRUNCATED;
	if (tcp->syn && !tcp->ack)
		return REDIRECT_ACCEPTED_SYN;
	inner_set_ports(inner, ipv6, &tcp->source, false);
	return decide_tcp_socket(context, inner, ipv6, tcp);
}

static __always_inline int decide_udp(
	struct xdp_md *context, struct cursor *cursor, struct inner *inner, bool ipv6, __u32 by_cid)
{
	struct udphdr *udp = cursor_take(cursor, sizeof(*udp));
	__u8 *payload;

	if (!udp)
		return REDIRECT_DROP_INNER_TRUNCATED;
	if (quic.is_used && by_cid && !inner->is_fragment && quic_ask(cursor->at, cursor->end, udp->dest, false))
		return DECIDE_BY_CID;
	if (settings.udp == REDIRECT_UDP_FIRST_HOP)
		return REDIRECT_ACCEPTED_OTHER;
	payload = cursor_peek(cursor, 1);
	if (payload && *payload & QUIC_LONG_HEADER)
		return REDIRECT_ACCEPTED_OTHER;
	inner_set_ports(inner, ipv6, &udp->source, false);
	return decide_udp_socket(context, inner, ipv6);
}

static __always_inline bool is_icmp_error(__u8 type, bool ipv6)
{
	if (ipv6)
		return type >= ICMPV6_DEST_UNREACH && type <= ICMPV6_PARAMPROB;
	return type == ICMP_DEST_UNREACH || type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETERPROB;
}

/* Decides about an ICMP error by the flow that it quotes, of which it needs 8 bytes after the IP header. */
static __always_inline int decide_quoted(struct xdp_md *context, struct cursor *cursor, bool ipv6, __u32 by_cid)
{
	struct inner quoted = {0};
	int result = inner_parse(cursor, &quoted, ipv6, true);
	__be16 *ports;

	if (result != INNER_OK)
		return result;
	if (quoted.later_fragment || (quoted.protocol != IPPROTO_TCP && quoted.protocol != IPPROTO_UDP))
		return REDIRECT_ACCEPTED_OTHER;
	ports = cursor_peek(cursor, 8);
	if (!ports)
		return REDIRECT_DROP_INNER_TRUNCATED;
	inner_set_ports(&quoted, ipv6, ports, true);
	if (quoted.protocol == IPPROTO_TCP)
		return decide_tcp_socket(context, &quoted, ipv6, NULL);
	if (quic.is_used && by_cid && !quoted.is_fragment &&
		quic_ask(cursor->at + sizeof(struct udphdr), cursor->end, ports[0], true))
		return DECIDE_BY_CID;
	if (settings.udp == REDIRECT_UDP_FIRST_HOP)
		return REDIRECT_ACCEPTED_OTHER;
	return decide_udp_socket(context, &quoted, ipv6);
}

/*
 * This is a global function (Linux 5.6). The verifier checks it once, apart from its callers, so the
 * numbers of branches add up instead of multiplying. A global function can take no pointers but the
 * context, so the arguments are offsets: the packet occupies `at` to `end` of the frame. Each family has
 * its own code, because it is a constant there. Returns a DECIDE_ value or a counter.
 */
__noinline int decide_quote(struct xdp_md *context, __u32 at, __u32 end, __u32 ipv6, __u32 by_cid)
{
	struct cursor cursor = cursor_within(context, at, end);

	if (ipv6)
		return decide_quoted(context, &cursor, true, by_cid);
	return decide_quoted(context, &cursor, false, by_cid);
}

static __always_inline int decide_icmp(struct xdp_md *context, struct cursor *cursor, bool ipv6, __u32 by_cid)
{
	__u8 *type = cursor_take(cursor, ICMP_HEADER_SIZE);

	if (!type)
		return REDIRECT_DROP_INNER_TRUNCATED;
	if (!is_icmp_error(*type, ipv6))
		return REDIRECT_ACCEPTED_OTHER;
	return decide_quote(context, cursor->at, cursor->end, ipv6, by_cid);
}

static __always_inline int decide_packet(struct xdp_md *context, struct cursor *cursor, bool ipv6, __u32 by_cid)
{
	struct inner inner = {0};
	int result = inner_parse(cursor, &inner, ipv6, false);

	if (result != INNER_OK)
		return result;
	if (inner.later_fragment)
		return REDIRECT_ACCEPTED_OTHER;
	if (inner.protocol == IPPROTO_TCP)
		return decide_tcp(context, cursor, &inner, ipv6);
	if (inner.protocol == IPPROTO_UDP)
		return decide_udp(context, cursor, &inner, ipv6, by_cid);
	if (inner.protocol == (ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return decide_icmp(context, cursor, ipv6, by_cid);
	return REDIRECT_ACCEPTED_OTHER;
}

/* The arguments and the result are those of decide_quote(). */
__noinline int decide_inner(struct xdp_md *context, __u32 at, __u32 end, __u32 ipv6, __u32 by_cid)
{
	struct cursor cursor = cursor_within(context, at, end);

	if (ipv6)
		return decide_packet(context, &cursor, true, by_cid);
	return decide_packet(context, &cursor, false, by_cid);
}
