/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The IP headers of an inner packet, or of the packet that an ICMP error in it quotes, up to the
 * upper protocol.
 */
#ifndef GLB_REDIRECT_INNER_BPF_H
#define GLB_REDIRECT_INNER_BPF_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>

#include "bpf/cursor.bpf.h"
#include "redirect/redirect.h"

#define INNER_MAX_EXTENSION_HEADERS 8
#define INNER_IPV4_OFFSET           0x1fff
#define INNER_IPV6_OFFSET           0xfff8

enum {
	INNER_OK = -1, /* or a counter */
};

struct inner {
	void *ip; /* struct iphdr or struct ipv6hdr */
	bool later_fragment; /* no ports to be seen */
	__u8 protocol; /* the upper one, behind extension headers */
	struct bpf_sock_tuple flow; /* as this host receives it; ports come last */
};

/*
 * quoted: by an ICMP error. This host sent that packet, so its ends are exchanged, and its length
 * is not to be believed.
 */
static __always_inline int inner_ipv4(struct cursor *cursor, struct inner *inner, bool quoted)
{
	struct iphdr *ip = cursor_peek(cursor, sizeof(*ip));
	__u32 header, total;

	if (!ip)
		return REDIRECT_DROP_INNER_TRUNCATED;
	header = 4 * ip->ihl;
	total = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || header < sizeof(*ip) || total < header)
		return REDIRECT_DROP_INNER_MALFORMED;
	if (!quoted && !cursor_cut(cursor, total))
		return REDIRECT_DROP_INNER_TRUNCATED;
	if (!cursor_skip(cursor, header))
		return REDIRECT_DROP_INNER_TRUNCATED;
	inner->ip = ip;
	inner->protocol = ip->protocol;
	inner->later_fragment = ip->frag_off & bpf_htons(INNER_IPV4_OFFSET);
	inner->flow.ipv4.saddr = quoted ? ip->daddr : ip->saddr;
	inner->flow.ipv4.daddr = quoted ? ip->saddr : ip->daddr;
	return INNER_OK;
}

#define EXTENSION_HEADERS \
	(1ull << IPPROTO_HOPOPTS | 1ull << IPPROTO_ROUTING | 1ull << IPPROTO_FRAGMENT | 1ull << IPPROTO_DSTOPTS)

/* For a fragment header, `length` is reserved and `offset` says where it goes. */
struct extension_header {
	__u8 next, length; /* in units of 8 bytes, without the first */
	__be16 offset;
	__be32 rest;
};

/* Without branches on what kind of header it is: the verifier walks every path, 8 times over. */
static __always_inline int inner_extension_headers(struct cursor *cursor, struct inner *inner)
{
	for (int i = 0; i <= INNER_MAX_EXTENSION_HEADERS; i++) {
		struct extension_header *extension;
		__u32 protocol = inner->protocol, is_fragment;

		if (protocol >= 64 || !(EXTENSION_HEADERS >> protocol & 1))
			return INNER_OK;
		if (i == INNER_MAX_EXTENSION_HEADERS)
			return REDIRECT_DROP_INNER_EXTENSION_HEADERS;
		extension = cursor_take(cursor, sizeof(*extension));
		if (!extension)
			return REDIRECT_DROP_INNER_TRUNCATED;
		is_fragment = ((protocol ^ IPPROTO_FRAGMENT) - 1) >> 31;
		if (!cursor_skip(cursor, 8 * extension->length * (1 - is_fragment)))
			return REDIRECT_DROP_INNER_TRUNCATED;
		inner->protocol = extension->next;
		if (is_fragment * (extension->offset & bpf_htons(INNER_IPV6_OFFSET))) {
			inner->later_fragment = true;
			return INNER_OK;
		}
	}
	return INNER_OK;
}

static __always_inline int inner_ipv6(struct cursor *cursor, struct inner *inner, bool quoted)
{
	struct ipv6hdr *ip = cursor_peek(cursor, sizeof(*ip));

	if (!ip)
		return REDIRECT_DROP_INNER_TRUNCATED;
	if (ip->version != 6)
		return REDIRECT_DROP_INNER_MALFORMED;
	if (!quoted && !cursor_cut(cursor, sizeof(*ip) + bpf_ntohs(ip->payload_len)))
		return REDIRECT_DROP_INNER_TRUNCATED;
	cursor->at += sizeof(*ip);
	inner->ip = ip;
	inner->protocol = ip->nexthdr;
	__builtin_memcpy(inner->flow.ipv6.saddr, quoted ? &ip->daddr : &ip->saddr, 16);
	__builtin_memcpy(inner->flow.ipv6.daddr, quoted ? &ip->saddr : &ip->daddr, 16);
	return inner_extension_headers(cursor, inner);
}

/*
 * Moves to the upper protocol. `ipv6` is a constant everywhere: what lies on the stack is not one
 * to the verifier.
 */
static __always_inline int inner_parse(struct cursor *cursor, struct inner *inner, bool ipv6, bool quoted)
{
	return ipv6 ? inner_ipv6(cursor, inner, quoted) : inner_ipv4(cursor, inner, quoted);
}

/*
 * The ports of TCP and UDP are the first two words of either; a quote has them from the other end's
 * view.
 */
static __always_inline void inner_set_ports(struct inner *inner, bool ipv6, const __be16 *ports, bool quoted)
{
	__be16 source = ports[quoted ? 1 : 0], destination = ports[quoted ? 0 : 1];

	if (ipv6) {
		inner->flow.ipv6.sport = source;
		inner->flow.ipv6.dport = destination;
	} else {
		inner->flow.ipv4.sport = source;
		inner->flow.ipv4.dport = destination;
	}
}

#endif
